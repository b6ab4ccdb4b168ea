"""Create a merchant from a few values by the rules of the merchant file. A live merchant that is
created from its sandbox gets the sandbox's workflows."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from dunwell.accounts.merchants.account import Work, check_right
from dunwell.accounts.merchants.actor import Actor
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.accounts.merchants.rights import Right
from dunwell.accounts.merchants.store import load_merchant, lock_merchant
from dunwell.cases.assignment.rules import RuleDocument, RulesDocument, build_document
from dunwell.cases.assignment.store import find_published_rules, find_rules_draft
from dunwell.cases.disputes.response_templates import add_response_template, list_response_templates
from dunwell.core.workflows.change_workflow import deactivate_workflow
from dunwell.core.workflows.store import load_current, load_draft, load_workflows
from dunwell.operations.merchant_file.changes import (
    Change,
    PublishDraft,
    PublishRules,
    SaveDraft,
    SaveRules,
)
from dunwell.operations.merchant_file.check_file import InstallationLimits, check_merchant_file
from dunwell.operations.merchant_file.decide_changes import decide_changes
from dunwell.operations.merchant_file.load_state import load_merchant_state
from dunwell.operations.merchant_file.make_changes import make_changes
from dunwell.operations.merchant_file.read_file import MerchantFileSource
from dunwell.operations.merchant_file.settings import build_counterpart_settings
from dunwell.platform.database.database import Connection
from dunwell.platform.errors import Fault, ValidationError
from dunwell.platform.resources import Resources


@dataclass(frozen=True, slots=True)
class CopiedWorkflows:
    """The workflows and rules of a sandbox, as changes that copy them."""

    changes: list[Change]
    # The names of workflows that are not assigned to new claims.
    deactivated: frozenset[str]


async def load_workflows_to_copy(tx: Connection, merchant_id: int) -> CopiedWorkflows:
    """Load the workflows and rules of the sandbox as changes to make. The sandbox is locked, so
    that they do not change between two reads."""
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
    published_rules = await find_published_rules(tx, merchant_id)
    draft_rules = await find_rules_draft(tx, merchant_id)
    if published_rules is not None:
        document = _remove_unknown_targets(
            build_document(published_rules.rules, names), published.values()
        )
        changes += [SaveRules(document), PublishRules()]
    if draft_rules is not None:
        changes.append(
            SaveRules(
                _remove_unknown_targets(build_document(draft_rules.rules, names), names.values())
            )
        )
    deactivated = frozenset(each.name for each in workflows if not each.assignment_enabled)
    return CopiedWorkflows(changes, deactivated)


async def deactivate_copied_workflows(work: Work, copied: CopiedWorkflows) -> None:
    """Deactivate the workflows that are not active in the sandbox."""
    for each in await load_workflows(work.tx, work.merchant_id):
        if each.name in copied.deactivated:
            await deactivate_workflow(work, each.workflow_id)


def _remove_unknown_targets(document: RulesDocument, names: Collection[str]) -> RulesDocument:
    """Remove the rules whose workflows are not all in `names`. A workflow is missing there if it
    was deleted in the sandbox or is not published there."""
    default = document.default if document.default in names else None
    rules = [each for each in document.rules if _list_targets(each) <= {*names}]
    return RulesDocument(default=default, rules=rules)


def _list_targets(rule: RuleDocument) -> set[str]:
    if isinstance(rule.target, str):
        return {rule.target}
    return {each.workflow for each in rule.target}


async def open_merchant(
    resources: Resources, tx: Connection, actor: Actor,
    *, document: dict[str, Any], limits: InstallationLimits, counterpart: Merchant | None = None,
) -> int:  # fmt: skip
    """Create the merchant and return its id.

    `document` has key, name, language, timezone, currency and sandbox. The new merchant starts with
    the settings of its counterpart. A live merchant also gets the workflows, response templates and
    assignment rules of its sandbox. Raises ValidationError with every fault, also if the key is
    taken.
    """
    check_right(actor, Right.CONFIGURE)
    logo = counterpart.configuration.brand.logo if counterpart else None
    settings = build_counterpart_settings(counterpart) if counterpart else {}
    source = MerchantFileSource({**settings, **document}, {}, [], logo)
    try:
        checked = check_merchant_file(source, limits)
    except ValidationError as refusal:
        if all(fault.path != "/key" for fault in refusal.faults):
            taken = await _find_taken_key_faults(tx, resources, document["key"])
            raise ValidationError([*taken, *refusal.faults]) from None
        raise
    taken = await _find_taken_key_faults(tx, resources, checked.file.key)
    if taken:
        raise ValidationError(taken)
    state = await load_merchant_state(tx, resources.keys, checked.file.key, lock=False)
    changes = [*decide_changes(checked, state, publish=False)]
    if counterpart is None or not counterpart.is_sandbox or document["sandbox"]:
        return (await make_changes(resources, tx, None, changes=changes, actor=actor)).merchant_id
    copied = await load_workflows_to_copy(tx, counterpart.merchant_id)
    changes += copied.changes
    made = await make_changes(resources, tx, None, changes=changes, actor=actor)
    merchant = await load_merchant(tx, made.merchant_id)
    assert merchant is not None
    work = Work.open(resources, tx, merchant, actor)
    await deactivate_copied_workflows(work, copied)
    for template in await list_response_templates(Work.open(resources, tx, counterpart, actor)):
        await add_response_template(work, template.name, template.text)
    return made.merchant_id


async def _find_taken_key_faults(tx: Connection, resources: Resources, key: str) -> list[Fault]:
    """Return a fault if another merchant has this key."""
    state = await load_merchant_state(tx, resources.keys, key, lock=False)
    if state.merchant is None:
        return []
    return [Fault("/key", "Another merchant already has this key. Choose another.", "TAKEN")]
