"""Credentials: shown once, rotated without an outage, revoked at once."""

from datetime import timedelta

import pytest

from dunwell.accounts.merchants.actor import COMMAND_LINE
from dunwell.accounts.merchants.credentials.credential import CredentialAccess
from dunwell.accounts.merchants.credentials.credentials import (
    create_credential,
    revoke_credential,
    rotate_credential,
)
from dunwell.accounts.merchants.credentials.store import PresentedToken, load_accesses
from dunwell.accounts.merchants.credentials.tokens import NewCredential, hash_secret, issue_token
from dunwell.accounts.merchants.store import load_credentials, sweep_merchant_rows
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import AuthenticationError, InvalidState, NotFound, ValidationError
from dunwell.platform.resources import Resources
from tests.support.harness import Harness, a_harness


@pytest.fixture
async def harness(resources: Resources, clock: MovableClock) -> Harness:
    return await a_harness(resources, clock)


async def create(harness: Harness, seed: int = 1, name: str = "erp") -> NewCredential:
    async with harness.work(COMMAND_LINE) as work:
        return await create_credential(work, name, randomness=bytes([seed]) * 48)


async def issue(harness: Harness, credential: NewCredential, seed: int = 7) -> str:
    async with harness.resources.database.transaction() as tx:
        issued = await issue_token(
            tx, credential, now=harness.clock.now(), randomness=bytes([seed]) * 32,
            ids=harness.resources.ids,
        )  # fmt: skip
    return issued.access_token


async def rotate(harness: Harness, credential: NewCredential, seed: int) -> NewCredential:
    async with harness.work(COMMAND_LINE) as work:
        return await rotate_credential(work, credential.client_id, randomness=bytes([seed]) * 32)


async def find(harness: Harness, token: str) -> CredentialAccess | None:
    async with harness.resources.database.connection() as connection:
        presented = PresentedToken(hash_secret(token), harness.merchant.merchant_id)
        [access] = await load_accesses(connection, [presented], harness.clock.now())
        return access


async def test_a_token_gives_access_to_the_credentials_merchant(harness: Harness) -> None:
    credential = await create(harness)

    access = await find(harness, await issue(harness, credential))

    assert access is not None
    assert (access.merchant, access.owner_id) == (harness.merchant, harness.merchant.merchant_id)
    assert (access.client_id, access.requests_per_minute) == (credential.client_id, 600)


async def test_neither_secrets_nor_tokens_are_stored(harness: Harness) -> None:
    credential = await create(harness)
    token = await issue(harness, credential)

    for table in ("credentials", "credential_secrets", "access_tokens", "audit_log"):
        rows = await harness.rows(f"SELECT t::text FROM {table} t WHERE merchant_id = $1")
        assert rows
        for row in rows:
            assert credential.client_secret not in row["t"]
            assert token not in row["t"]


async def test_each_change_writes_its_audit_row(harness: Harness) -> None:
    credential = await create(harness)
    await rotate(harness, credential, 2)
    async with harness.work(COMMAND_LINE) as work:
        await revoke_credential(work, credential.client_id)

    rows = await harness.rows(
        "SELECT action FROM audit_log WHERE merchant_id = $1 ORDER BY audit_id"
    )

    actions = sorted(row["action"] for row in rows)
    assert actions == ["credential.create", "credential.revoke", "credential.rotate"]


async def test_a_name_is_unique_per_merchant(harness: Harness) -> None:
    await create(harness)

    with pytest.raises(InvalidState):
        await create(harness, seed=2)

    async with harness.work() as work:
        assert len(await load_credentials(work.tx, work.merchant_id)) == 1


@pytest.mark.parametrize("name", ["", "x" * 256, "a\nb", "a\x00"])
async def test_a_name_is_a_line_of_text(harness: Harness, name: str) -> None:
    with pytest.raises(ValidationError):
        await create(harness, name=name)


async def test_the_old_secret_works_for_a_day_after_a_rotation(harness: Harness) -> None:
    old = await create(harness)
    new = await rotate(harness, old, 2)
    harness.clock.advance(timedelta(hours=24) - timedelta(seconds=1))
    assert await issue(harness, old, 3)
    assert await issue(harness, new, 4)

    harness.clock.advance(timedelta(seconds=1))

    assert await issue(harness, new, 5)
    with pytest.raises(AuthenticationError):
        await issue(harness, old, 6)


async def test_a_second_rotation_ends_the_oldest_secret_at_once(harness: Harness) -> None:
    first = await create(harness)
    second = await rotate(harness, first, 2)
    third = await rotate(harness, first, 3)

    assert await issue(harness, second, 4)
    assert await issue(harness, third, 5)
    with pytest.raises(AuthenticationError):
        await issue(harness, first, 6)


async def test_revoking_ends_the_credential_and_its_tokens_at_once(harness: Harness) -> None:
    credential = await create(harness)
    token = await issue(harness, credential)

    async with harness.work(COMMAND_LINE) as work:
        await revoke_credential(work, credential.client_id)

    assert await find(harness, token) is None
    with pytest.raises(AuthenticationError):
        await issue(harness, credential, 8)
    with pytest.raises(NotFound):
        await rotate(harness, credential, 9)


async def test_a_credential_of_another_merchant_cannot_be_revoked_or_rotated(
    harness: Harness, resources: Resources, clock: MovableClock
) -> None:
    credential = await create(harness)
    other = await a_harness(resources, clock, key="hansen")

    async with other.work(COMMAND_LINE) as work:
        with pytest.raises(NotFound):
            await revoke_credential(work, credential.client_id)
    with pytest.raises(NotFound):
        await rotate(other, credential, 2)

    assert await issue(harness, credential)


async def test_a_changed_configuration_applies_to_the_next_request(harness: Harness) -> None:
    token = await issue(harness, await create(harness))
    before = await find(harness, token)
    await harness.rows(
        "UPDATE merchants SET revision = revision + 1,"
        " configuration = jsonb_set(configuration, '{currency}', '\"CHF\"')"
        " WHERE merchant_id = $1 RETURNING 1"
    )

    after = await find(harness, token)

    assert before is not None
    assert before.merchant is not None
    assert before.merchant.configuration.currency == "EUR"
    assert after is not None
    assert after.merchant is not None
    assert after.merchant.configuration.currency == "CHF"


async def test_the_sweep_deletes_only_expired_tokens(harness: Harness) -> None:
    credential = await create(harness)
    await issue(harness, credential, 1)
    harness.clock.advance(timedelta(minutes=30))
    token = await issue(harness, credential, 2)
    harness.clock.advance(timedelta(minutes=31))

    async with harness.resources.database.transaction() as tx:
        assert await sweep_merchant_rows(tx, harness.clock.now()) == 1

    assert await find(harness, token) is not None
