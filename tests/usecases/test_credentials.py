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
from dunwell.accounts.merchants.credentials.secrets import NewCredential, hash_secret
from dunwell.accounts.merchants.credentials.store import PresentedToken, load_accesses
from dunwell.accounts.merchants.credentials.tokens import issue_token
from dunwell.accounts.merchants.store import load_credentials
from dunwell.accounts.merchants.sweep import sweep_merchant_rows
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import AuthenticationError, InvalidState, NotFound, ValidationError
from dunwell.platform.resources import Resources
from tests.support.house import House, a_house


@pytest.fixture
async def house(resources: Resources, clock: MovableClock) -> House:
    return await a_house(resources, clock)


async def create(house: House, seed: int = 1, name: str = "erp") -> NewCredential:
    async with house.work(COMMAND_LINE) as work:
        return await create_credential(work, name, randomness=bytes([seed]) * 48)


async def issue(house: House, credential: NewCredential, seed: int = 7) -> str:
    async with house.resources.database.transaction() as tx:
        issued = await issue_token(
            tx, credential, now=house.clock.now(), randomness=bytes([seed]) * 32,
            ids=house.resources.ids,
        )  # fmt: skip
    return issued.access_token


async def rotate(house: House, credential: NewCredential, seed: int) -> NewCredential:
    async with house.work(COMMAND_LINE) as work:
        return await rotate_credential(work, credential.client_id, randomness=bytes([seed]) * 32)


async def find(house: House, token: str) -> CredentialAccess | None:
    async with house.resources.database.connection() as connection:
        presented = PresentedToken(hash_secret(token), house.merchant.merchant_id)
        [access] = await load_accesses(connection, [presented], house.clock.now())
        return access


async def test_a_token_gives_access_to_the_credentials_merchant(house: House) -> None:
    credential = await create(house)

    access = await find(house, await issue(house, credential))

    assert access is not None
    assert (access.merchant, access.owner_id) == (house.merchant, house.merchant.merchant_id)
    assert (access.client_id, access.requests_per_minute) == (credential.client_id, 600)


async def test_neither_secrets_nor_tokens_are_stored(house: House) -> None:
    credential = await create(house)
    token = await issue(house, credential)

    for table in ("credentials", "credential_secrets", "access_tokens", "audit_log"):
        rows = await house.rows(f"SELECT t::text FROM {table} t WHERE merchant_id = $1")
        assert rows
        for row in rows:
            assert credential.client_secret not in row["t"]
            assert token not in row["t"]


async def test_each_change_writes_its_audit_row(house: House) -> None:
    credential = await create(house)
    await rotate(house, credential, 2)
    async with house.work(COMMAND_LINE) as work:
        await revoke_credential(work, credential.client_id)

    rows = await house.rows("SELECT action FROM audit_log WHERE merchant_id = $1 ORDER BY audit_id")

    actions = sorted(row["action"] for row in rows)
    assert actions == ["credential.create", "credential.revoke", "credential.rotate"]


async def test_a_name_is_unique_per_merchant(house: House) -> None:
    await create(house)

    with pytest.raises(InvalidState):
        await create(house, seed=2)

    async with house.work() as work:
        assert len(await load_credentials(work.tx, work.merchant_id)) == 1


@pytest.mark.parametrize("name", ["", "x" * 256, "a\nb", "a\x00"])
async def test_a_name_is_a_line_of_text(house: House, name: str) -> None:
    with pytest.raises(ValidationError):
        await create(house, name=name)


async def test_the_old_secret_works_for_a_day_after_a_rotation(house: House) -> None:
    old = await create(house)
    new = await rotate(house, old, 2)
    house.clock.advance(timedelta(hours=24) - timedelta(seconds=1))
    assert await issue(house, old, 3)
    assert await issue(house, new, 4)

    house.clock.advance(timedelta(seconds=1))

    assert await issue(house, new, 5)
    with pytest.raises(AuthenticationError):
        await issue(house, old, 6)


async def test_a_second_rotation_ends_the_oldest_secret_at_once(house: House) -> None:
    first = await create(house)
    second = await rotate(house, first, 2)
    third = await rotate(house, first, 3)

    assert await issue(house, second, 4)
    assert await issue(house, third, 5)
    with pytest.raises(AuthenticationError):
        await issue(house, first, 6)


async def test_revoking_ends_the_credential_and_its_tokens_at_once(house: House) -> None:
    credential = await create(house)
    token = await issue(house, credential)

    async with house.work(COMMAND_LINE) as work:
        await revoke_credential(work, credential.client_id)

    assert await find(house, token) is None
    with pytest.raises(AuthenticationError):
        await issue(house, credential, 8)
    with pytest.raises(NotFound):
        await rotate(house, credential, 9)


async def test_a_credential_of_another_merchant_cannot_be_revoked_or_rotated(
    house: House, resources: Resources, clock: MovableClock
) -> None:
    credential = await create(house)
    other = await a_house(resources, clock, key="hansen")

    async with other.work(COMMAND_LINE) as work:
        with pytest.raises(NotFound):
            await revoke_credential(work, credential.client_id)
    with pytest.raises(NotFound):
        await rotate(other, credential, 2)

    assert await issue(house, credential)


async def test_a_changed_configuration_applies_to_the_next_request(house: House) -> None:
    token = await issue(house, await create(house))
    before = await find(house, token)
    await house.rows(
        "UPDATE merchants SET revision = revision + 1,"
        " configuration = jsonb_set(configuration, '{currency}', '\"CHF\"')"
        " WHERE merchant_id = $1 RETURNING 1"
    )

    after = await find(house, token)

    assert before is not None
    assert before.merchant is not None
    assert before.merchant.configuration.currency == "EUR"
    assert after is not None
    assert after.merchant is not None
    assert after.merchant.configuration.currency == "CHF"


async def test_the_sweep_deletes_only_expired_tokens(house: House) -> None:
    credential = await create(house)
    await issue(house, credential, 1)
    house.clock.advance(timedelta(minutes=30))
    token = await issue(house, credential, 2)
    house.clock.advance(timedelta(minutes=31))

    async with house.resources.database.transaction() as tx:
        assert await sweep_merchant_rows(tx, house.clock.now()) == 1

    assert await find(house, token) is not None
