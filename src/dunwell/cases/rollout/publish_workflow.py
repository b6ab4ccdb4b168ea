"""Publish a workflow's draft after everything about it was checked.

All faults are told at once, each with its place: what is wrong with the definition by itself, with
its texts, with what its texts ask of the merchant, and with step ids that stood for something else
in earlier versions.
"""

from uuid import UUID

import msgspec

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.configuration import Configuration
from dunwell.accounts.merchants.rights import Right
from dunwell.contact.messages.checking import find_template_faults
from dunwell.contact.messages.merchant_rules import (
    find_forbidden_words,
    find_quiet_faults,
    find_value_faults,
)
from dunwell.core.workflows.change_workflow import open_workflow
from dunwell.core.workflows.checking import find_definition_faults
from dunwell.core.workflows.definition import Definition
from dunwell.core.workflows.drafts.draft_changes import Ticks
from dunwell.core.workflows.drafts.publish_draft import publish_draft
from dunwell.core.workflows.store import load_draft
from dunwell.core.workflows.versions.store import load_known_steps
from dunwell.core.workflows.versions.versions import Version, find_reused_ids
from dunwell.platform.children.process import run_apart
from dunwell.platform.errors import Fault, ValidationError


async def publish_workflow(
    work: Work, workflow_id: UUID, comment: str | None = None, *, expected_id: UUID | None = None,
    ticks: Ticks | None = None,
) -> Version:  # fmt: skip
    """Publish the draft; `expected_id`: the one that was looked at, and no other; `ticks`: the
    changes in it that were looked at.

    Raises ValidationError with every fault, and what `publish_draft` raises.
    """
    work.need(Right.PUBLISH)
    await open_workflow(work, workflow_id)
    draft = await load_draft(work.tx, work.merchant_id, workflow_id)
    if draft is not None:
        faults = await find_publishing_faults(work, workflow_id, draft.definition)
        if faults:
            raise ValidationError(faults)
    return await publish_draft(work, workflow_id, comment, expected_id=expected_id, ticks=ticks)


async def find_publishing_faults(
    work: Work, workflow_id: UUID, definition: Definition
) -> list[Fault]:
    """Faults with pointers from the definition's root; none: it can be published."""
    known = await load_known_steps(work.tx, work.merchant_id, workflow_id)
    faults = await run_apart(find_standing_faults, definition, work.merchant.configuration)
    faults += find_reused_ids(known, definition)
    return list(dict.fromkeys(faults))


def find_standing_faults(definition: Definition, configuration: Configuration) -> list[Fault]:
    """Those that need no look at earlier versions."""
    faults = find_definition_faults(msgspec.to_builtins(definition))
    faults += find_template_faults(definition)
    faults += find_value_faults(configuration, definition)
    faults += find_quiet_faults(configuration, definition)
    faults += find_forbidden_words(definition, configuration.forbidden_words)
    return faults
