"""The changes of a draft by whoever made them, one's own first."""

from collections.abc import Collection, Sequence
from uuid import UUID

from dunwell.accounts.merchants.actor import Actor
from dunwell.core.workflows.drafts.draft_changes import DraftChange
from dunwell.core.workflows.versions.differences import PartDifference, compare_part
from dunwell.interfaces.portal.workflows.views_publish import AuthorChanges, ShownChange

_UNKNOWN_PART = "draft"


def group_changes(
    changes: Sequence[DraftChange], actor: Actor, *, new: Collection[UUID] = (),
    unticked: Collection[UUID] = (),
) -> list[AuthorChanges]:  # fmt: skip
    """new, unticked: the changes that came since the page was shown, and that need a tick."""
    by_author: dict[str, list[DraftChange]] = {}
    for each in changes:
        by_author.setdefault(name_author(each), []).append(each)
    groups = [
        AuthorChanges(
            key=key,
            kind=own[0].actor_kind,
            name=own[0].name or own[0].actor_id or "",
            is_own=own[0].is_of(actor.kind, actor.actor_id),
            is_open=any(each.change_id in unticked for each in own),
            changes=[ShownChange(each, _compare(each), each.change_id in new) for each in own],
        )
        for key, own in by_author.items()
    ]
    return sorted(groups, key=lambda each: not each.is_own)


def name_author(change: DraftChange) -> str:
    return f"{change.actor_kind}:{change.actor_id or ''}"


def _compare(change: DraftChange) -> PartDifference | None:
    if change.part == _UNKNOWN_PART:
        return None
    return compare_part(change.part, change.before, change.after)
