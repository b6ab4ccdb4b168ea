"""The SQL of who may answer at a merchant: rows in, values out, no rules."""

from collections.abc import Collection, Iterator, Sequence
from uuid import UUID

from dunwell.accounts.merchants.rights import ROLE_RIGHTS, Right
from dunwell.accounts.users.assignee import Assignee, Whose
from dunwell.platform.database.database import Connection
from dunwell.platform.database.listed_table import ListScope, Test
from dunwell.platform.database.sql import compose

# Those whose role lets them answer.
ANSWERING = sorted(str(role) for role, rights in ROLE_RIGHTS.items() if Right.ANSWER in rights)
# By primary key of memberships. Parts of statements: the merchant's id, then the roles.
_MEMBER = """
EXISTS (SELECT FROM memberships m
        WHERE m.merchant_id = {merchant} AND m.user_id = u.user_id AND m.role = ANY({roles}))
"""
ABLE = compose(
    "u.ended_at IS NULL AND (u.everywhere = ANY({roles}) OR {member})",
    member=_MEMBER, roles="{roles}",
)  # fmt: skip
# The work of a row `l` that is nobody's. By primary keys.
_NOBODYS = compose(
    "NOT EXISTS (SELECT FROM users u WHERE u.user_id = l.assignee_id AND {able})",
    able=compose(ABLE, merchant="l.merchant_id", roles="{}::text[]"),
)
_ABLE_HERE = compose(ABLE, merchant="$1", roles="$2::text[]")
# People are few: hundreds, not millions.
_LIST = compose(
    """
SELECT u.user_id, u.name, true AS is_able
FROM users u
WHERE {able} AND u.joined_at IS NOT NULL AND ($3 OR {member})
ORDER BY lower(u.name), u.user_id
LIMIT 500
""",
    able=_ABLE_HERE,
    member=compose(_MEMBER, merchant="$1", roles="$2::text[]"),
)
# By primary key.
_FIND = compose(
    "SELECT u.user_id, u.name, {able} AS is_able FROM users u WHERE u.user_id = ANY($3::uuid[])",
    able=_ABLE_HERE,
)


def list_whose_tests(whose: Whose, _: ListScope) -> Iterator[Test]:
    """For the filter of a list whose rows have an `assignee_id`."""
    if whose.is_nobodys:
        yield _NOBODYS, (ANSWERING, ANSWERING)
    elif whose.user_id is not None:
        yield "l.assignee_id = {}", (whose.user_id,)


async def list_colleagues(tx: Connection, merchant_id: int, *, of_all: bool) -> Sequence[Assignee]:
    """Those who have joined and may answer there, by name. of_all: also who may everywhere."""
    rows = await tx.fetch(_LIST, merchant_id, ANSWERING, of_all)
    return [Assignee(**row) for row in rows]


async def find_assignees(
    tx: Connection, merchant_id: int, user_ids: Collection[UUID]
) -> dict[UUID, Assignee]:
    """Ended ones too."""
    rows = await tx.fetch(_FIND, merchant_id, ANSWERING, list(user_ids))
    return {row["user_id"]: Assignee(**row) for row in rows}
