"""A live merchant that is made from its sandbox gets the sandbox's workflows, with their templates,
and its assignment rules: the published state and the drafts. Nothing else of the sandbox is read:
no claims, debtors, credentials or endpoints.

Older versions are not copied. They only matter to claims that run on them, and a new merchant has
none; so what is published in the sandbox becomes v1.0.
"""

from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.store import lock_merchant
from dunwell.cases.assignment.rules import RuleDocument, RulesDocument, write_rules
from dunwell.cases.assignment.store import load_published_rules, load_rules_draft
from dunwell.core.workflows.change_workflow import deactivate_workflow
from dunwell.core.workflows.store import load_current, load_draft, load_workflows
from dunwell.operations.onboarding.changes import (
    Change,
    PublishDraft,
    PublishRules,
    SaveDraft,
    SaveRules,
)
from dunwell.platform.database.database import Connection


@dataclass(frozen=True, slots=True)
class CopiedProcesses:
    changes: list[Change]
    # Names of workflows that new claims do not get.
    deactivated: frozenset[str]


async def load_processes_to_copy(tx: Connection, merchant_id: int) -> CopiedProcesses:
    """The sandbox is locked, so that nobody changes rules or workflows between two reads."""
    await lock_merchant(tx, merchant_id)
    workflows = await load_workflows(tx, merchant_id)
    changes: list[Change] = []
    published: dict[UUID, str] = {}
    for each in workflows:
        current = await load_current(tx, merchant_id, each.workflow_id)
        draft = await load_draft(tx, merchant_id, each.workflow_id)
        if current is not None:
            published[each.workflow_id] = each.name
            changes += [SaveDraft(each.name, current.definition), PublishDraft(each.name)]
        if draft is not None:
            changes.append(SaveDraft(each.name, draft.definition))
    names = {each.workflow_id: each.name for each in workflows}
    ruling = await load_published_rules(tx, merchant_id)
    draft_rules = await load_rules_draft(tx, merchant_id)
    if ruling is not None:
        document = _keep_known(write_rules(ruling.rules, names), published.values())
        changes += [SaveRules(document), PublishRules()]
    if draft_rules is not None:
        changes.append(
            SaveRules(_keep_known(write_rules(draft_rules.rules, names), names.values()))
        )
    deactivated = frozenset(each.name for each in workflows if not each.assignment_enabled)
    return CopiedProcesses(changes, deactivated)


async def deactivate_copied(work: Work, copied: CopiedProcesses) -> None:
    """New claims do not get what they did not get in the sandbox."""
    for each in await load_workflows(work.tx, work.merchant_id):
        if each.name in copied.deactivated:
            await deactivate_workflow(work, each.workflow_id)


def _keep_known(document: RulesDocument, names: Collection[str]) -> RulesDocument:
    """Without rules for a workflow that was deleted in the sandbox: they decide nothing there."""
    default = document.default if document.default in names else None
    rules = [each for each in document.rules if _list_targets(each) <= {*names}]
    return RulesDocument(default=default, rules=rules)


def _list_targets(rule: RuleDocument) -> set[str]:
    if isinstance(rule.target, str):
        return {rule.target}
    return {each.workflow for each in rule.target}
