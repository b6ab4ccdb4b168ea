"""Key versions recorded in the database: wrong keys are refused, and old ones are retired late."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from dunwell.accounts.merchants.actor import COMMAND_LINE
from dunwell.accounts.merchants.audit_log import list_installation_audit
from dunwell.core.events.webhooks.endpoint_secrets import open_authorization, open_secret
from dunwell.core.events.webhooks.store import load_endpoints
from dunwell.core.files.storage import Storage
from dunwell.operations.keys.reseal import Resealer
from dunwell.operations.keys.sealed_columns import SealedValues
from dunwell.operations.keys.sealed_files import SealedLetters
from dunwell.operations.keys.versions import (
    AuditStamp,
    abandon_version,
    list_version_states,
    retire_version,
)
from dunwell.platform.clock import MovableClock
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Database
from dunwell.platform.errors import InvalidState, NotFound
from dunwell.platform.key_versions import (
    KnownKeyVersion,
    SecretKeyMismatch,
    build_key_check,
    find_key_mismatch,
)
from dunwell.platform.resources import Resources
from tests.support.keys import (
    SECOND,
    THIRD,
    count_sealed,
    list_columns,
    open_first_connection,
    reseal_table,
    with_versions,
)
from tests.support.webhooks import Outbox, an_outbox

FIRST = bytes(range(32))
NOW = datetime(2026, 3, 2, tzinfo=UTC)
# Long enough ago for the checks.
_AGE = "UPDATE key_versions SET recorded_at = now() - interval '10 days'"


def known(*versions: tuple[int, bytes], retired: int | None = None) -> list[KnownKeyVersion]:
    return [
        KnownKeyVersion(number, KeyRing({number: key}).fingerprint(number), NOW,
                     NOW if number == retired else None)
        for number, key in versions
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({1: SECOND}, "is not the key"),
        ({2: FIRST}, "known here as version 1"),
        ({2: SECOND}, "Version 1 of the secret key is missing"),
        ({2: SECOND, 3: THIRD}, "Version 1 of the secret key is missing"),
    ],
)
def test_keys_that_do_not_match_are_reported(keys: dict[int, bytes], words: str) -> None:
    assert words in (find_key_mismatch(KeyRing(keys), known((1, FIRST))) or "")


def test_matching_keys_may_be_in_any_order_with_additional_ones() -> None:
    before = known((1, FIRST), (3, THIRD))
    assert find_key_mismatch(KeyRing({1: FIRST, 3: THIRD}), before) is None
    assert find_key_mismatch(KeyRing({4: SECOND, 3: THIRD, 1: FIRST}), before) is None
    lower = find_key_mismatch(KeyRing({3: THIRD, 2: SECOND, 1: FIRST}), before)
    assert lower is not None
    assert "the number 4" in lower


def test_a_retired_version_can_be_removed_and_not_used_again() -> None:
    before = known((1, FIRST), (2, SECOND), retired=1)
    assert find_key_mismatch(KeyRing({2: SECOND}), before) is None
    assert find_key_mismatch(KeyRing({2: SECOND, 1: FIRST}), before) is None
    assert "is retired" in (find_key_mismatch(KeyRing({1: FIRST, 2: SECOND}), before) or "")


async def test_a_process_with_another_key_is_refused_before_its_first_statement(
    resources: Resources,
) -> None:
    await open_first_connection(resources)
    url = resources.settings.database_url
    assert url is not None
    database = await Database.open(url, on_connect=build_key_check(KeyRing({1: SECOND})))
    with pytest.raises(SecretKeyMismatch, match="is not the key"):
        async with database.connection():
            pass
    await database.close()


async def test_a_new_version_is_recorded_and_required_afterwards(resources: Resources) -> None:
    await open_first_connection(resources)
    await open_first_connection(with_versions(resources, 1, 2))
    await open_first_connection(with_versions(resources, 2, 1))
    with pytest.raises(SecretKeyMismatch, match="Version 2 of the secret key is missing"):
        await open_first_connection(resources)


async def test_the_first_of_two_keys_with_the_same_version_is_kept(resources: Resources) -> None:
    await open_first_connection(resources)
    await open_first_connection(with_versions(resources, 1, 2))
    keys = KeyRing({2: THIRD, 1: resources.settings.secret_key[1]})
    async with resources.database.connection() as connection:
        on_connect = build_key_check(keys)
        with pytest.raises(SecretKeyMismatch):
            await on_connect(connection)


async def add_endpoints(outbox: Outbox, count: int) -> None:
    for number in range(count):
        await outbox.add_endpoint(f"https://example.org/{number}", authorization="Bearer x")


async def opened(outbox: Outbox, resources: Resources) -> set[str]:
    """Return the authorization headers of all endpoints, whose secrets can be decrypted too."""
    async with resources.database.connection() as connection:
        endpoints = await load_endpoints(connection, outbox.merchant.merchant_id)
    values = set()
    for each in endpoints:
        ids = each.merchant_id, each.endpoint_id
        assert open_secret(resources.keys, *ids, each.secret_sealed).startswith("whsec_")
        assert each.authorization_sealed is not None
        values.add(open_authorization(resources.keys, *ids, each.authorization_sealed))
    return values


async def counts(resources: Resources) -> dict[int, int]:
    async with resources.database.connection() as connection:
        return await count_sealed(connection, "webhook_endpoints")


async def test_webhook_secrets_can_be_decrypted_throughout_reencryption(
    resources: Resources, clock: MovableClock
) -> None:
    outbox = await an_outbox(resources)
    await add_endpoints(outbox, 201)
    rotated = with_versions(resources, 2, 1)
    resealer = Resealer(rotated, list_columns("webhook_endpoints"))
    assert await counts(resources) == {1: 402}
    assert await resealer.run_once() == 2
    assert await counts(resources) == {1: 2, 2: 400}
    assert await opened(outbox, rotated) == {"Bearer x"}
    # As after a crash: another worker starts over.
    await reseal_table(rotated, "webhook_endpoints")
    assert await counts(resources) == {2: 402}
    assert await opened(outbox, rotated) == await opened(outbox, with_versions(resources, 1, 2))


async def test_with_one_key_version_nothing_is_reencrypted(resources: Resources) -> None:
    outbox = await an_outbox(resources)
    await add_endpoints(outbox, 1)
    assert await Resealer(resources, list_columns("webhook_endpoints")).run_once() == 0


async def test_a_secret_changed_during_reencryption_is_not_overwritten(
    resources: Resources,
) -> None:
    outbox = await an_outbox(resources)
    await add_endpoints(outbox, 1)
    async with resources.database.transaction() as giving:
        await giving.execute("UPDATE webhook_endpoints SET secret_sealed = 'given'")
        resealer = Resealer(with_versions(resources, 2, 1), list_columns("webhook_endpoints"))
        resealing = asyncio.create_task(resealer.run_once())
        await asyncio.sleep(0.2)
    await resealing
    async with resources.database.connection() as connection:
        assert await connection.fetchval("SELECT secret_sealed FROM webhook_endpoints") == b"given"


def kinds(resources: Resources) -> list[SealedValues]:
    return [
        *list_columns("webhook_endpoints"),
        SealedLetters(Storage.open(resources.settings.files_url)),
    ]


def stamp(resources: Resources) -> AuditStamp:
    return AuditStamp(resources.clock.now(), resources.ids)


async def retire(resources: Resources, version: int) -> None:
    async with resources.database.transaction() as tx:
        await retire_version(tx, resources.keys, kinds(resources), version, stamp(resources))


async def state_of(resources: Resources, version: int) -> str:
    async with resources.database.connection() as connection:
        standing = await list_version_states(connection, resources.keys, kinds(resources))
    return next(each.state for each in standing if each.version == version)


async def test_a_version_is_retired_when_nothing_needs_it(resources: Resources) -> None:
    outbox = await an_outbox(resources)
    await add_endpoints(outbox, 1)
    rotated = with_versions(resources, 2, 1)
    await open_first_connection(resources)
    await open_first_connection(rotated)
    for version, words in [(2, "is in use"), (1, "still encrypts 2 webhook secrets")]:
        with pytest.raises(InvalidState, match=words):
            await retire(rotated, version)
    with pytest.raises(NotFound):
        await retire(rotated, 3)
    await reseal_table(rotated, "webhook_endpoints")
    with pytest.raises(InvalidState, match="for 9 days"):
        await retire(rotated, 1)
    async with resources.database.connection() as connection:
        await connection.execute(_AGE)
    await retire(rotated, 1)
    await retire(rotated, 1)
    assert await state_of(rotated, 1) == "RETIRED"
    await open_first_connection(with_versions(resources, 2))
    with pytest.raises(SecretKeyMismatch, match="is retired"):
        await open_first_connection(with_versions(resources, 1, 2))


async def test_a_version_can_be_removed_nine_days_after_the_next(resources: Resources) -> None:
    rotated = with_versions(resources, 2, 1)
    await open_first_connection(resources)
    await open_first_connection(rotated)
    age = "UPDATE key_versions SET recorded_at = now() - $1::interval"
    async with resources.database.transaction() as tx:
        await tx.execute(age, timedelta(days=9, microseconds=-1))
        with pytest.raises(InvalidState, match="for 9 days"):
            await retire_version(tx, rotated.keys, kinds(rotated), 1, stamp(rotated))
        await tx.execute(age, timedelta(days=9))
        await retire_version(tx, rotated.keys, kinds(rotated), 1, stamp(rotated))
    assert await state_of(rotated, 1) == "RETIRED"


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO suppressions VALUES ($1, 'EMAIL', 'x', 'e***', 'BOUNCE', now(), 'OPERATOR')",
        "INSERT INTO ledger_seals VALUES ($1, 1, 0, 0, 'x', now())",
    ],
)
async def test_a_version_that_digests_use_cannot_be_removed(
    resources: Resources, statement: str
) -> None:
    outbox = await an_outbox(resources)
    rotated = with_versions(resources, 2, 1)
    await open_first_connection(resources)
    await open_first_connection(rotated)
    async with resources.database.connection() as connection:
        await connection.execute(_AGE)
        await connection.execute(statement, outbox.merchant.merchant_id)
    with pytest.raises(InvalidState, match="must stay"):
        await retire(rotated, 1)
    assert await state_of(rotated, 1) == "KEPT"


async def test_only_a_missing_version_can_be_given_up(resources: Resources) -> None:
    await open_first_connection(resources)
    both, second = with_versions(resources, 2, 1), with_versions(resources, 2)
    async with resources.database.transaction() as tx:
        with pytest.raises(InvalidState, match="is in the settings"):
            await abandon_version(tx, both.keys, kinds(resources), 1, stamp(both))
        await abandon_version(tx, second.keys, kinds(resources), 1, stamp(second))
        audited = await list_installation_audit(tx, COMMAND_LINE, limit=10)
    assert [(each.action, each.subject) for each in audited.items] == [("key.give-up", "key:1")]
    await open_first_connection(second)
