"""A list's filters kept under a name: somebody's own, or everybody's at the merchant."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import MASKED, save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.platform.errors import Fault, NotFound, ValidationError
from dunwell.platform.text.texts import find_unprintable

LONGEST_NAME = 80
_LONGEST_QUERY = 2_000
MOST_VIEWS = 50
# Rides on the unique key by user, and on views_shared.
_LOAD = """
SELECT v.view_id, v.name, v.query, v.is_shared, v.user_id = $2 AS is_own, u.name AS owner
FROM views v
JOIN users u ON u.user_id = v.user_id
WHERE v.merchant_id = $1 AND v.list = 'CLAIMS' AND (v.user_id = $2 OR v.is_shared)
ORDER BY v.is_shared, lower(v.name), v.view_id
LIMIT 100
"""
_COUNT = "SELECT count(*) FROM views WHERE merchant_id = $1 AND user_id = $2"
_SAVE = """
INSERT INTO views (merchant_id, view_id, user_id, is_shared, list, name, query, created_at)
VALUES ($1, $2, $3, $4, 'CLAIMS', $5, $6, $7)
ON CONFLICT (merchant_id, user_id, list, name) DO UPDATE
SET query = EXCLUDED.query, is_shared = EXCLUDED.is_shared
RETURNING view_id
"""
# By primary key.
_DELETE = """
DELETE FROM views
WHERE merchant_id = $1 AND view_id = $2 AND user_id = $3
RETURNING name
"""


@dataclass(frozen=True, slots=True)
class SavedView:
    view_id: UUID
    name: str
    # As in the list's address.
    query: str
    is_shared: bool
    is_own: bool
    owner: str


async def list_views(work: Work, user_id: UUID) -> Sequence[SavedView]:
    """One's own first."""
    work.need(Right.READ_CLAIMS)
    rows = await work.tx.fetch(_LOAD, work.merchant_id, user_id)
    return [SavedView(**row) for row in rows]


async def save_view(work: Work, user_id: UUID, name: str, query: str, *, is_shared: bool) -> UUID:
    """One of one's own of this name gets these filters. Raises ValidationError."""
    work.need(Right.READ_CLAIMS)
    if is_shared:
        work.need(Right.CHANGE_CLAIMS)
    faults = list(find_unprintable(name, ("name",)))
    if not 0 < len(name) <= LONGEST_NAME:
        faults.append(Fault("/name", f"Use 1 to {LONGEST_NAME} characters.", "WRONG_LENGTH"))
    if len(query) > _LONGEST_QUERY:
        faults.append(Fault("/query", "These are too many filters.", "TOO_LONG"))
    if await work.tx.fetchval(_COUNT, work.merchant_id, user_id) >= MOST_VIEWS:
        faults.append(Fault("/name", f"There are {MOST_VIEWS} views; end one.", "TOO_MANY"))
    if faults:
        raise ValidationError(faults)
    view_id: UUID = await work.tx.fetchval(
        _SAVE, work.merchant_id, work.ids.new(work.real_now), user_id, is_shared, name, query,
        work.real_now,
    )  # fmt: skip
    # What is searched for may be somebody's name.
    after = {"name": name, "query": MASKED, "isShared": is_shared}
    await save_audit(work, "view.save", f"view:{view_id}", after=after, isShared=is_shared)
    return view_id


async def end_view(work: Work, user_id: UUID, view_id: UUID) -> None:
    """One's own alone. Raises NotFound."""
    work.need(Right.READ_CLAIMS)
    name = await work.tx.fetchval(_DELETE, work.merchant_id, view_id, user_id)
    if name is None:
        raise NotFound("There is no such view of yours.")
    await save_audit(work, "view.end", f"view:{view_id}", before={"name": name})
