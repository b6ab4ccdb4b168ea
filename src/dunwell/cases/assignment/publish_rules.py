"""Publish a merchant's assignment rules; claims created from then on follow them."""

from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

import msgspec

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.accounts.merchants.store import lock_merchant, raise_revision
from dunwell.cases.assignment.document import list_names, write_rules
from dunwell.cases.assignment.rules import RuleSet, list_targets
from dunwell.cases.assignment.store import TargetRow, load_published_rules, load_targets, save_rules
from dunwell.core.workflows.store import hold_workflows
from dunwell.platform.errors import Fault, ValidationError


async def publish_rules(work: Work, rules: RuleSet, *, comment: str | None = None) -> int:
    """Store the rules as the next version; answers its number.

    Raises ValidationError, with every workflow that is absent, deleted or was never published.
    """
    work.need(Right.PUBLISH)
    await lock_merchant(work.tx, work.merchant_id)
    # Nothing they point to is deleted meanwhile.
    await hold_workflows(work.tx, work.merchant_id, list_targets(rules))
    targets = await load_targets(work.tx, work.merchant_id, list_targets(rules))
    faults = list(_find_target_faults(rules, targets))
    if faults:
        raise ValidationError(faults)
    ruling = await load_published_rules(work.tx, work.merchant_id)
    author = (work.actor.kind, work.actor.actor_id)
    version = await save_rules(
        work.tx, work.merchant_id, rules, author=author, now=work.now, comment=comment
    )
    await raise_revision(work.tx, work.merchant_id)
    before = None if ruling is None else list_values(ruling.rules)
    await save_audit(
        work, "assignment_rules.publish", f"assignment_rules:{version}",
        before=before, after=list_values(rules),
        rules=len(rules.rules), default=None if rules.default is None else str(rules.default),
    )  # fmt: skip
    return version


def list_values(rules: RuleSet) -> dict[str, Any]:
    """As people write them, with the workflows' ids in the place of their names."""
    values: dict[str, Any] = msgspec.to_builtins(write_rules(rules, {}))
    return values


def _find_target_faults(rules: RuleSet, targets: Mapping[UUID, TargetRow]) -> Iterator[Fault]:
    """Pointers are those of the rules as people write them."""
    by_name = {str(each): targets.get(each) for each in list_targets(rules)}
    for path, workflow_id in list_names(write_rules(rules, {})):
        target = by_name[workflow_id]
        if target is None:
            yield Fault(path, f"There is no workflow {workflow_id}.", "UNKNOWN_WORKFLOW")
        elif target.is_deleted:
            message = f'The workflow "{target.name}" is deleted; name another.'
            yield Fault(path, message, "UNKNOWN_WORKFLOW")
        elif target.major is None:
            message = f'The workflow "{target.name}" was never published; publish it first.'
            yield Fault(path, message, "NEVER_PUBLISHED")
