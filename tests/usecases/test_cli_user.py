"""`dunwell user`: invitation links, the list, deactivation, and the first admin of `up`."""

import re

from dunwell.accounts.merchants.rights import Role
from dunwell.accounts.users.accept_invitation import find_invitation
from dunwell.platform.database.database import Database
from dunwell.platform.resources import Resources
from tests.support.command_line import CommandLine
from tests.support.merchants import AT_NOON, a_merchant
from tests.support.users import OPENER, a_new_user, build_sign_in_services, join

_LINK = re.compile(r"http://127\.0\.0\.1:8000/portal/invitation/([\w-]{43})\n")
_ACTS = "SELECT actor_kind, actor_id, action FROM installation_audit ORDER BY audit_id"


def find_secret(stdout: str) -> str:
    found = _LINK.fullmatch(stdout)
    assert found is not None, stdout
    return found[1]


async def test_users_are_created_listed_reset_and_deactivated(
    dunwell: CommandLine, database: Database, resources: Resources
) -> None:
    services = build_sign_in_services(resources)
    async with database.transaction() as tx:
        merchant = await a_merchant(tx, now=AT_NOON)
    await join(services, a_new_user())
    made = dunwell.run(
        "user", "create", "paul@example.org", "--name", "Paul", "--role", "merchant-user",
        "--merchant", "nordwind", "--language", "de",
    )  # fmt: skip
    assert (made.returncode, made.stderr) == (
        0, "Valid once, for 72 hours. Give it only to this user.\n",
    )  # fmt: skip
    invited = await find_invitation(services, find_secret(made.stdout), OPENER)
    assert invited is not None
    assert invited.user.roles.memberships == {merchant.merchant_id: Role.MERCHANT_USER}
    again = dunwell.run("user", "reset", "PAUL@example.org")
    assert find_secret(again.stdout) != find_secret(made.stdout)
    listed = dunwell.run("user", "list").stdout.splitlines()
    assert [re.split(r"  +", line) for line in listed] == [
        ["e-mail", "name", "role", "state"],
        ["erika@example.org", "Erika", "admin", "active"],
        ["paul@example.org", "Paul", "merchant-user of nordwind", "invited"],
    ]
    assert dunwell.run("user", "sign-out", "erika@example.org").stdout == (
        "signed out erika@example.org: 1 session\n"
    )
    assert dunwell.run("user", "end", "paul@example.org", "--yes").stdout == (
        "deactivated paul@example.org\n"
    )
    async with database.connection() as connection:
        acts = [tuple(row) for row in await connection.fetch(_ACTS)]
    assert acts[-4:] == [
        ("OPERATOR", "command line", "user.invite"), ("OPERATOR", "command line", "user.reset"),
        ("OPERATOR", "command line", "session.end_all"),
        ("OPERATOR", "command line", "user.end"),
    ]  # fmt: skip


async def test_each_refusal_is_one_line(dunwell: CommandLine, resources: Resources) -> None:
    await join(build_sign_in_services(resources), a_new_user())
    name = ("--name", "X", "--role")
    for words, expected in (
        (("end", "erika@example.org", "--yes"), "This is the last administrator."),
        (("end", "nobody@example.org", "--yes"), "There is no user nobody@example.org."),
        (("reset", "nobody@example.org"), "There is no user nobody@example.org."),
        (("create", "erika@example.org", *name, "admin"), "A user with this e-mail address"),
        (("create", "x@example.org", *name, "auditor", "--merchant", "x"), "There is no merchant"),
        (("create", "x@example.org", *name, "merchant-user"), "A merchant's user needs"),
    ):
        done = dunwell.run("user", *words)
        assert (done.returncode, done.stdout) == (1, "")
        assert expected in done.stderr
        assert done.stderr.count("\n") == 1


def test_deactivating_a_user_needs_yes(dunwell: CommandLine) -> None:
    done = dunwell.run("user", "end", "erika@example.org")
    assert done.returncode == 2
    assert "--yes" in done.stderr
