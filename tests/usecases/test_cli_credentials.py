"""`dunwell credential`: secrets are shown once, and merchants are named by key."""

from datetime import UTC, datetime

from dunwell.accounts.merchants.credentials.store import find_credential_by_secret
from dunwell.accounts.merchants.credentials.tokens import NewCredential, hash_secret, issue_token
from dunwell.platform.database.database import Database
from dunwell.platform.ids import RandomIds
from tests.conftest import MONDAY_MORNING
from tests.support.command_line import CommandLine
from tests.support.merchants import a_merchant


def read_secret(output: str) -> tuple[str, str]:
    shown = dict(line.split() for line in output.splitlines())
    return shown["client_id"], shown["client_secret"]


async def is_live(database: Database, client_id: str, secret: str) -> bool:
    async with database.connection() as connection:
        now = datetime.now(UTC)
        found = await find_credential_by_secret(connection, client_id, hash_secret(secret), now)
    return found is not None


async def a_shop(database: Database, key: str) -> None:
    async with database.transaction() as tx:
        await a_merchant(tx, key, now=MONDAY_MORNING)


async def test_a_created_credential_works_until_it_is_revoked(
    dunwell: CommandLine, database: Database
) -> None:
    await a_shop(database, "nordwind")
    created = dunwell.run("credential", "create", "nordwind", "erp")
    assert created.returncode == 0
    client_id, secret = read_secret(created.stdout)
    assert await is_live(database, client_id, secret)
    assert secret not in created.stderr
    assert dunwell.run("credential", "revoke", client_id).returncode == 0
    assert not await is_live(database, client_id, secret)


async def test_rotating_adds_a_new_secret_and_keeps_the_old_one(
    dunwell: CommandLine, database: Database
) -> None:
    await a_shop(database, "nordwind")
    client_id, old = read_secret(dunwell.run("credential", "create", "nordwind", "erp").stdout)
    same_id, new = read_secret(dunwell.run("credential", "rotate", client_id).stdout)
    assert same_id == client_id
    assert new != old
    assert await is_live(database, client_id, old)
    assert await is_live(database, client_id, new)
    ended = dunwell.run("credential", "end-old-secret", client_id)
    assert ended.stdout == f"only the newest secret of {client_id} works\n"
    assert not await is_live(database, client_id, old)
    assert await is_live(database, client_id, new)


async def test_a_token_is_revoked_from_standard_input(
    dunwell: CommandLine, database: Database
) -> None:
    await a_shop(database, "nordwind")
    given = NewCredential(
        *read_secret(dunwell.run("credential", "create", "nordwind", "erp").stdout)
    )
    async with database.transaction() as tx:
        issued = await issue_token(
            tx, given, now=datetime.now(UTC), randomness=bytes(32), ids=RandomIds()
        )
    done = dunwell.run("credential", "revoke-token", stdin=f"{issued.access_token}\n")
    assert (done.stdout, done.stderr) == (f"revoked a token of {given.client_id}\n", "")
    again = dunwell.run("credential", "revoke-token", stdin=f"{issued.access_token}\n")
    assert (again.returncode, again.stdout) == (1, "")
    assert again.stderr.startswith("dunwell: There is no such access token")
    async with database.connection() as connection:
        assert await connection.fetchval("SELECT count(*) FROM access_tokens") == 0


async def test_allowing_lets_a_credential_reach_another_merchant(
    dunwell: CommandLine, database: Database
) -> None:
    await a_shop(database, "nordwind")
    await a_shop(database, "hansen")
    client_id, _ = read_secret(dunwell.run("credential", "create", "nordwind", "erp").stdout)
    first = dunwell.run("credential", "allow", client_id, "hansen")
    assert first.stdout == f"{client_id} now has access to hansen\n"
    second = dunwell.run("credential", "allow", client_id, "hansen")
    assert second.stdout == f"{client_id} already has access to hansen\n"
    third = dunwell.run("credential", "disallow", client_id, "hansen")
    assert third.stdout == f"{client_id} no longer has access to hansen\n"
    own = dunwell.run("credential", "disallow", client_id, "nordwind")
    assert (own.returncode, own.stdout) == (1, "")
    assert own.stderr.endswith("of nordwind itself. Revoke it instead.\n")


async def test_an_unknown_merchant_or_credential_is_reported_in_one_line(
    dunwell: CommandLine, database: Database
) -> None:
    for words in (["create", "nobody", "erp"], ["revoke", "dwc_none"], ["rotate", "dwc_none"]):
        done = dunwell.run("credential", *words)
        assert done.returncode == 1
        assert done.stdout == ""
        assert done.stderr.splitlines()[-1].startswith("dunwell: There is no ")
        assert done.stderr.count("\n") == 1
    async with database.connection() as connection:
        assert await connection.fetchval("SELECT count(*) FROM credentials") == 0
        assert await connection.fetchval("SELECT count(*) FROM audit_log") == 0
