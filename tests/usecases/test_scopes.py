"""The scope of a credential: set by the command line or a merchant file, changed, and shown."""

import json
from pathlib import Path

import asyncpg
import pytest

from dunwell.accounts.merchants.actor import (
    COMMAND_LINE,
    Interface,
    Origin,
    build_credential_actor,
    build_user_actor,
)
from dunwell.accounts.merchants.credentials.credential import Credential
from dunwell.accounts.merchants.credentials.credentials import (
    allow_credential,
    create_credential,
    list_credentials,
)
from dunwell.accounts.merchants.credentials.tokens import CREDENTIAL_RANDOM_BYTES, NewCredential
from dunwell.accounts.merchants.rights import ALL_RIGHTS, ROLE_RIGHTS, Right, Role, Scope
from dunwell.platform.clock import MovableClock
from dunwell.platform.database.database import Database
from dunwell.platform.errors import InsufficientScope, ValidationError
from dunwell.platform.resources import Resources
from tests.conftest import MONDAY_MORNING
from tests.support.command_line import CommandLine
from tests.support.harness import Harness, a_harness
from tests.support.merchants import a_merchant
from tests.usecases.test_apply import Applying

_OPERATOR = build_user_actor("u-1", ROLE_RIGHTS[Role.OPERATOR], Origin(Interface.PORTAL))


@pytest.fixture
async def harness(resources: Resources, clock: MovableClock) -> Harness:
    return await a_harness(resources, clock)


async def create(harness: Harness, *scopes: Scope) -> NewCredential:
    async with harness.work(_OPERATOR) as work:
        randomness = bytes(CREDENTIAL_RANDOM_BYTES)
        return await create_credential(work, "erp", randomness=randomness, scopes=scopes)


async def credentials(harness: Harness) -> list[Credential]:
    async with harness.work(COMMAND_LINE) as work:
        return [*await list_credentials(work)]


async def test_a_new_credential_is_listed_with_its_scopes(harness: Harness) -> None:
    created = await create(harness, Scope.MONEY, Scope.CLAIMS)
    [listed] = await credentials(harness)
    assert (listed.client_id, listed.scopes) == (created.client_id, (Scope.CLAIMS, Scope.MONEY))


async def test_a_changed_scope_is_audited_with_before_and_after(harness: Harness) -> None:
    created = await create(harness, Scope.ALL)
    for is_changed in (True, False):
        async with harness.work(COMMAND_LINE) as work:
            assert await allow_credential(work, created.client_id, [Scope.READ]) is is_changed
            assert not await allow_credential(work, created.client_id)
    [row] = await harness.rows(
        "SELECT before, after FROM audit_log WHERE merchant_id = $1 AND action = 'credential.allow'"
    )
    assert (row["before"], row["after"]) == ({"scopes": ["ALL"]}, {"scopes": ["READ"]})


async def test_a_credential_without_a_scope_is_refused(harness: Harness) -> None:
    with pytest.raises(ValidationError):
        await create(harness)
    created = await create(harness, Scope.READ)
    async with harness.work(COMMAND_LINE) as work:
        with pytest.raises(ValidationError):
            await allow_credential(work, created.client_id, [])
    [listed] = await credentials(harness)
    assert listed.scopes == (Scope.READ,)


@pytest.mark.parametrize("scopes", [[], ["WRITE"], ["READ", "x"]])
async def test_the_database_refuses_an_unknown_scope(harness: Harness, scopes: list[str]) -> None:
    await create(harness, Scope.READ)
    with pytest.raises(asyncpg.CheckViolationError):
        await harness.rows(
            "UPDATE credential_grants SET scopes = $2 WHERE merchant_id = $1 RETURNING 1", scopes
        )


async def test_a_scope_beyond_ones_own_rights_cannot_be_given(harness: Harness) -> None:
    created = await create(harness, Scope.READ)
    clerk = build_credential_actor("clerk", ALL_RIGHTS - {Right.RECORD_MONEY})
    for scope in (Scope.MONEY, Scope.ALL):
        async with harness.work(clerk) as work:
            with pytest.raises(InsufficientScope, match="RECORD_MONEY"):
                await allow_credential(work, created.client_id, [scope])
    async with harness.work(clerk) as work:
        assert await allow_credential(work, created.client_id, [Scope.CLAIMS])


async def test_a_merchant_file_sets_and_changes_the_scope(
    resources: Resources, tmp_path: Path
) -> None:
    applying = Applying(resources, tmp_path)
    applying.document["credentials"] = [{"name": "erp", "scope": "CLAIMS"}, {"name": "all"}]
    await applying.apply()
    applying.document["credentials"] = [
        {"name": "erp", "scope": ["MONEY", "CLAIMS"]}, {"name": "all"},
    ]  # fmt: skip
    changed = 'credential "erp" scope: CLAIMS -> CLAIMS, MONEY'
    assert (await applying.plan()).changes == [changed]
    assert (await applying.apply()).changes == [changed]
    assert (await applying.apply()).changes == []
    # An absent key changes nothing.
    applying.document["credentials"] = [{"name": "erp"}, {"name": "all"}]
    assert (await applying.apply()).changes == []


@pytest.mark.parametrize("scope", ["WRITE", [], ["READ", "x"], 7])
async def test_a_merchant_file_with_an_unknown_scope_is_refused(
    resources: Resources, tmp_path: Path, scope: object
) -> None:
    applying = Applying(resources, tmp_path)
    applying.document["credentials"] = [{"name": "erp", "scope": scope}]
    with pytest.raises(ValidationError) as refused:
        await applying.apply()
    assert refused.value.faults[0].path.startswith("/credentials/0/scope")


async def test_the_command_line_sets_shows_and_changes_scopes(
    dunwell: CommandLine, database: Database
) -> None:
    async with database.transaction() as tx:
        await a_merchant(tx, "nordwind", now=MONDAY_MORNING)
    created = dunwell.run("credential", "create", "nordwind", "erp", "--scope", "money")
    client_id = created.stdout.split()[1]
    allowed = dunwell.run("credential", "allow", client_id, "nordwind", "--scope", "READ")
    assert allowed.stdout == f"{client_id} now has access to nordwind with scope READ\n"
    listed = dunwell.run("credential", "list", "nordwind")
    assert listed.stdout == f"{client_id}  active   READ                 erp\n"
    [shown] = json.loads(dunwell.run("credential", "list", "nordwind", "--json").stdout)
    assert (shown["name"], shown["scopes"]) == ("erp", ["READ"])
    assert dunwell.run("credential", "create", "nordwind", "x", "--scope", "y").returncode == 2


async def test_audit_shows_what_changed_by_merchant_and_for_the_installation(
    dunwell: CommandLine, database: Database, tmp_path: Path
) -> None:
    async with database.transaction() as tx:
        await a_merchant(tx, "nordwind", now=MONDAY_MORNING)
    created = dunwell.run("credential", "create", "nordwind", "erp", "--scope", "money")
    client_id = created.stdout.split()[1]
    lines = dunwell.run("audit", "nordwind").stdout.splitlines()
    what = f"credential.create  credential:{client_id}  by OPERATOR command line"
    assert lines[0].endswith(what)
    assert lines[1:] == ['    name: null -> "erp"', '    scopes: null -> ["MONEY"]']
    first = json.loads(dunwell.run("audit", "nordwind", "--json").stdout)
    assert first["items"][0]["origin"] == {"face": "COMMAND_LINE"}
    path = tmp_path / "installation.yaml"
    path.write_text("trustedProxies: [10.0.0.7]\n")
    assert dunwell.run("apply", str(path)).returncode == 0
    entries = dunwell.run("audit", "--action", "installation.apply").stdout.splitlines()
    assert entries[1] == '    trustedProxies: null -> ["10.0.0.7"]'
    verified = dunwell.run("verify-ledger", "--installation")
    assert verified.stdout.startswith("(installation)  sound  0 rows sealed, 1 not yet\n")
    everything = dunwell.run("verify-ledger", "--json")
    assert [each["merchant"] for each in json.loads(everything.stdout)] == ["nordwind", None]
    assert dunwell.run("verify-ledger", "nordwind", "--installation").returncode == 2
