"""Check and publish a workflow's draft, and describe beforehand what that would do."""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

import msgspec

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.configuration import Configuration
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.rollout.contact_waits import list_contact_warnings
from dunwell.cases.rollout.store import count_active_claims
from dunwell.cases.rollout.uses import render_claim_count
from dunwell.contact.messages.templates.merchant_rules import (
    list_forbidden_word_faults,
    list_missing_value_faults,
    list_quiet_hour_faults,
)
from dunwell.contact.messages.templates.template_faults import list_template_faults
from dunwell.core.workflows.change_workflow import lock_workflow_for_change
from dunwell.core.workflows.checking import find_definition_faults
from dunwell.core.workflows.definition import Definition
from dunwell.core.workflows.drafts.draft_changes import ReviewedChanges
from dunwell.core.workflows.drafts.publish_draft import publish_draft
from dunwell.core.workflows.store import load_current, load_draft
from dunwell.core.workflows.versions.differences import compare_texts, list_differences
from dunwell.core.workflows.versions.store import load_known_steps
from dunwell.core.workflows.versions.versions import (
    Version,
    VersionVerdict,
    compute_next_number,
    compute_verdict,
    find_reused_id_faults,
    render_version_name,
)
from dunwell.platform.children.process import run_in_thread
from dunwell.platform.errors import Fault, InvalidState, ValidationError


async def publish_workflow(
    work: Work, workflow_id: UUID, comment: str | None = None, *, expected_id: UUID | None = None,
    reviewed: ReviewedChanges | None = None,
) -> Version:  # fmt: skip
    """Publish the draft. `expected_id` is the draft that the user saw, and `reviewed` has the
    changes that the user saw in it.

    Raises ValidationError with every fault, and what `publish_draft` raises.
    """
    work.require(Right.PUBLISH)
    await lock_workflow_for_change(work, workflow_id)
    draft = await load_draft(work.tx, work.merchant_id, workflow_id)
    if draft is not None:
        faults = await list_publishing_faults(work, workflow_id, draft.definition)
        if faults:
            raise ValidationError(faults)
    return await publish_draft(
        work, workflow_id, comment, expected_id=expected_id, reviewed=reviewed
    )


async def list_publishing_faults(
    work: Work, workflow_id: UUID, definition: Definition
) -> list[Fault]:
    """Return the faults that prevent publication, with pointers from the definition's root."""
    known = await load_known_steps(work.tx, work.merchant_id, workflow_id)
    faults = await run_in_thread(list_content_faults, definition, work.merchant.configuration)
    faults += find_reused_id_faults(known, definition)
    return list(dict.fromkeys(faults))


def list_content_faults(definition: Definition, configuration: Configuration) -> list[Fault]:
    """Return the faults that do not depend on earlier versions."""
    faults = find_definition_faults(msgspec.to_builtins(definition))
    faults += list_template_faults(definition)
    faults += list_missing_value_faults(configuration, definition)
    faults += list_quiet_hour_faults(configuration, definition)
    faults += list_forbidden_word_faults(definition, configuration.forbidden_words)
    return faults


@dataclass(frozen=True, slots=True)
class PublicationPlan:
    """What publishing would do. `before` is the name of the current version, or None for a workflow
    that was never published."""

    draft_id: UUID
    before: str | None
    # The name that the draft would get, which is the same as before if nothing differs.
    after: str
    verdict: VersionVerdict
    differences: list[str]
    # Location of a text -> the lines of its difference, which start with -, + or a space.
    text_changes: Mapping[str, list[str]]
    # Active claims that would get the new version, and active claims that keep theirs.
    reached: int
    staying: int
    # What prevents publication.
    faults: list[Fault]
    # What should be changed, but does not prevent publication.
    warnings: list[Fault]


async def plan_publication(work: Work, workflow_id: UUID) -> PublicationPlan:
    """Describe what publishing the draft would do. Raises InvalidState if there is no draft."""
    work.require(Right.CONFIGURE)
    draft = await load_draft(work.tx, work.merchant_id, workflow_id)
    if draft is None:
        raise InvalidState("The workflow has no draft; save one first.", state="PUBLISHED")
    current = await load_current(work.tx, work.merchant_id, workflow_id)
    active = await count_active_claims(work.tx, work.merchant_id, workflow_id)
    verdict = VersionVerdict.MAJOR
    if current is not None:
        verdict = compute_verdict(current.definition, draft.definition)
    number = compute_next_number(current, verdict)
    if current is not None and verdict is VersionVerdict.NONE:
        number = (current.major, current.minor)
    old = draft.definition if current is None else current.definition
    reached = count_reached_claims(current, verdict, active.get(workflow_id, {}))
    return PublicationPlan(
        draft_id=draft.version_id,
        before=None if current is None else current.name,
        after=render_version_name(*number),
        verdict=verdict,
        differences=list_differences(old, draft.definition),
        text_changes=compare_texts(old, draft.definition),
        reached=reached,
        staying=sum(active.get(workflow_id, {}).values()) - reached,
        faults=await list_publishing_faults(work, workflow_id, draft.definition),
        warnings=list_contact_warnings(draft.definition),
    )


def count_reached_claims(
    current: Version | None, verdict: VersionVerdict, active: Mapping[int, int]
) -> int:
    """Return how many claims the draft reaches: a minor version reaches the claims of its major
    version, a major version none (spec, Workflow version 4, 5).

    `active` maps major versions to their active claims.
    """
    if current is None or verdict is not VersionVerdict.MINOR:
        return 0
    return active.get(current.major, 0)


def describe_reach(plan: PublicationPlan) -> str:
    """Return how many claims would move to the new version and how many would not, in words."""
    moves = "moves" if plan.reached == 1 else "move"
    stays = "stays" if plan.staying == 1 else "stay"
    return (
        f"{render_claim_count(plan.reached)} in process {moves} to it, "
        f"{render_claim_count(plan.staying)} {stays} on their current version"
    )
