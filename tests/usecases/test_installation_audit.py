"""The audit log of the installation: written, read, sealed, and verified."""

from datetime import timedelta

import pytest

from dunwell.accounts.installation.apply_installation import apply_installation
from dunwell.accounts.installation.audit_log import (
    AuditFilter,
    InstallationAction,
    save_installation_audit,
)
from dunwell.accounts.installation.installation_file import Installation
from dunwell.accounts.merchants.actor import COMMAND_LINE, Interface, Origin
from dunwell.accounts.merchants.audit_log import list_installation_audit
from dunwell.operations.seals.seals import seal_installation, verify_installation_seals
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import ValidationError
from dunwell.platform.resources import Resources

_PLACE = Origin(Interface.PORTAL, "192.0.2.0/24", "s-1")


async def sign_in(resources: Resources, name: str) -> None:
    act = InstallationAction(
        actor_kind="USER", actor_id=name, action="session.begin", subject=f"user:{name}",
        before=None, after={"factor": "TOTP"}, origin=_PLACE.as_json(),
    )  # fmt: skip
    async with resources.database.transaction() as tx:
        await save_installation_audit(tx, act, resources.clock.now(), resources.ids)


async def tamper(resources: Resources, statement: str) -> None:
    async with resources.database.transaction() as tx:
        assert not (await tx.execute(statement)).endswith(" 0")


async def faults(resources: Resources) -> list[str]:
    return [each.fault.value for each in (await verify_installation_seals(resources)).findings]


@pytest.fixture
async def sealed(resources: Resources, clock: MovableClock) -> Resources:
    """Write three sign-ins under two seals."""
    for name in ("anna", "bert", "carl"):
        await sign_in(resources, name)
        clock.advance(timedelta(seconds=1))
        if name != "bert":
            assert await seal_installation(resources) > 0
    return resources


async def test_the_installation_audit_log_has_pages_newest_first(sealed: Resources) -> None:
    async with sealed.database.connection() as tx:
        first = await list_installation_audit(tx, COMMAND_LINE, limit=2)
        assert first.next_cursor is not None
        last = await list_installation_audit(tx, COMMAND_LINE, limit=2, cursor=first.next_cursor)
        berts = await list_installation_audit(
            tx, COMMAND_LINE, limit=2, wanted=AuditFilter(subject="user:bert")
        )
        with pytest.raises(ValidationError):
            await list_installation_audit(tx, COMMAND_LINE, limit=1, cursor="x")
    assert [each.actor_id for each in (*first.items, *last.items)] == ["carl", "bert", "anna"]
    [entry] = berts.items
    assert (entry.before, entry.after) == (None, {"factor": "TOTP"})
    assert entry.origin == {"face": "PORTAL", "network": "192.0.2.0/24", "session": "s-1"}
    assert entry.seal == 2


async def test_an_unaltered_chain_verifies_and_has_a_head(sealed: Resources) -> None:
    await sign_in(sealed, "dora")
    verdict = await verify_installation_seals(sealed)
    assert (verdict.findings, verdict.sealed_rows, verdict.unsealed_rows) == ((), 3, 1)
    assert verdict.head is not None
    assert verdict.head.seal == 2
    assert (await verify_installation_seals(sealed, verdict.head)).is_sound
    assert await seal_installation(sealed) == 1
    assert await seal_installation(sealed) == 0
    assert (await verify_installation_seals(sealed)).is_sound


@pytest.mark.parametrize(
    "change",
    [
        "at = at + interval '1 second'", "actor_id = 'x'", "actor_kind = 'SYSTEM'",
        "action = 'x.y'", "subject = 'user:x'", "before = '{}'", "after = NULL", "origin = NULL",
    ],
)  # fmt: skip
async def test_an_altered_row_is_named(sealed: Resources, change: str) -> None:
    await tamper(sealed, f"UPDATE installation_audit SET {change} WHERE actor_id = 'anna'")
    assert await faults(sealed) == ["ROW_ALTERED"]


async def test_removed_rows_and_seals_are_found(sealed: Resources) -> None:
    head = (await verify_installation_seals(sealed)).head
    await tamper(sealed, "DELETE FROM installation_audit WHERE actor_id = 'bert'")
    assert await faults(sealed) == ["ROWS_MISSING"]
    await tamper(sealed, "DELETE FROM installation_audit WHERE seal = 2")
    await tamper(sealed, "DELETE FROM installation_seals WHERE seal = 2")
    assert (await verify_installation_seals(sealed)).is_sound
    assert [each.fault for each in (await verify_installation_seals(sealed, head)).findings] == [
        "HEAD_MISSING"
    ]


async def test_an_applied_installation_file_is_audited(resources: Resources) -> None:
    for _ in range(2):
        await apply_installation(resources, Installation(trusted_proxies=["10.0.0.7"]))
    async with resources.database.connection() as tx:
        page = await list_installation_audit(tx, COMMAND_LINE, limit=10)
    [entry] = page.items
    assert (entry.action, entry.subject) == ("installation.apply", "installation:1")
    assert entry.before == {"trustedProxies": None}
    assert entry.after == {"trustedProxies": ["10.0.0.7"]}
    assert entry.origin == {"face": "COMMAND_LINE"}
