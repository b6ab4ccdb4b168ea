"""What all pages of rules load: the rules with what they point to, who has written them, the
workflows there are to choose."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.assignment.matching import RuleOutcome
from dunwell.cases.assignment.overlaps import Overlap, find_overlaps
from dunwell.cases.assignment.read_rules import RulesView, read_rules
from dunwell.cases.assignment.rules import RulesDocument, write_rules
from dunwell.cases.assignment.store import DraftChange, TargetRow
from dunwell.cases.assignment.targets import Rulebook, make_rulebook
from dunwell.interfaces.portal.rules.views import WorkflowChoice
from dunwell.interfaces.portal.web.access import Access
from dunwell.operations.explanation.store import load_user_names
from dunwell.platform.errors import NotFound


@dataclass(frozen=True, slots=True)
class Looked:
    """rulebook: of what is edited: the draft, else what is published."""

    view: RulesView
    rulebook: Rulebook
    document: RulesDocument
    overlaps: tuple[Overlap, ...]
    choices: Sequence[WorkflowChoice]
    writers: Mapping[str, str]


def check_may(access: Access, right: Right = Right.CONFIGURE) -> None:
    """Raises NotFound: for whoever may not there is no such page."""
    if not access.may(right):
        raise NotFound("There is no such page.")


async def look(work: Work) -> Looked:
    work.need(Right.READ_CLAIMS)
    view = await read_rules(work)
    rulebook = await make_rulebook(work.tx, work.merchant, view.edited, None)
    # With many rules these are some ten thousand pairs.
    overlaps = await asyncio.to_thread(find_overlaps, rulebook.rules, rulebook.targets)
    publishers = [view.ruling.actor_id] if view.ruling else []
    return Looked(
        view=view,
        rulebook=rulebook,
        document=write_rules(view.edited, view.names),
        overlaps=overlaps,
        choices=list_choices(view),
        writers=await name_writers(work, view.changes, publishers),
    )


def list_choices(view: RulesView) -> list[WorkflowChoice]:
    """The workflows that are not deleted, in the order of their names."""
    there = [row for row in view.workflows.values() if not row.is_deleted]
    return [
        WorkflowChoice(row.name, _find_obstacle(row))
        for row in sorted(there, key=lambda row: row.name.casefold())
    ]


async def name_writers(
    work: Work, changes: Iterable[DraftChange], others: Iterable[str | None] = ()
) -> Mapping[str, str]:
    """The names of people, by their ids."""
    work.need(Right.READ_CLAIMS)
    ids = {*(change.actor_id for change in changes), *others}
    return await load_user_names(work.tx, {each for each in ids if each is not None})


def _find_obstacle(row: TargetRow) -> str:
    if row.major is None:
        return RuleOutcome.SKIPPED_UNPUBLISHED
    return "" if row.assignment_enabled else RuleOutcome.SKIPPED_DEACTIVATED
