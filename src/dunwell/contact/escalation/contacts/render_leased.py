"""Render leased contacts outside any transaction: e-mails and SMS directly, letters in child
processes. Add the pay-by date to contacts whose texts use it."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from uuid import UUID

import structlog

from dunwell.accounts.merchants.configuration import Channel
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.contact.escalation.contacts.compose_contact import (
    MessageSource,
    StepExecution,
    render_contact,
)
from dunwell.contact.escalation.contacts.outcomes.settlement import (
    AttachmentMissing,
    ContactTooLate,
)
from dunwell.contact.escalation.contacts.sending_hours import build_sending_hours
from dunwell.contact.escalation.due_claim import DueClaim, list_usable_channels
from dunwell.contact.escalation.forecast.forecast import (
    Guard,
    PendingContact,
    find_pay_by,
    forecast,
)
from dunwell.contact.escalation.forecast.person_guard import build_person_guard
from dunwell.contact.escalation.forecast.running_claim import FORECAST_HORIZON, build_debtor_person
from dunwell.contact.escalation.prepared_workflow import PreparedWorkflow, get_prepared_workflow
from dunwell.contact.escalation.schedule import ContactPlanned, StepFacts
from dunwell.contact.escalation.store import load_claims
from dunwell.contact.messages.contact import PlannedContact, RenderedContact
from dunwell.contact.messages.guards.guards import ContactHold
from dunwell.contact.messages.guards.store import load_contact_days
from dunwell.contact.messages.identities import list_identities
from dunwell.contact.messages.letters.letter_files import LetterFiles
from dunwell.contact.messages.letters.printer import ScriptMissing, describe_missing_scripts
from dunwell.contact.messages.templates.placeholders import (
    PAY_BY,
    list_snippets,
    list_used_placeholders,
)
from dunwell.contact.sending.channel import Permanent
from dunwell.core.files.store import MessageAttachment
from dunwell.core.workflows.definition import ContactStep, Definition, Template, Texts
from dunwell.core.workflows.texts import get_channel_texts, list_channels
from dunwell.core.workflows.versions.versions import Version
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Connection
from dunwell.platform.errors import Unavailable

_RETRY_AFTER_FAULT = timedelta(hours=1)
# An unavailable storage is expected to recover soon.
_RETRY_AFTER_OUTAGE = timedelta(minutes=1)

log = structlog.get_logger(__name__)

# A message, a delay, a missing attachment, a contact that is too late, or a permanent refusal.
RenderingOutcome = RenderedContact | ContactHold | AttachmentMissing | ContactTooLate | Permanent


@dataclass(frozen=True, slots=True)
class ContactToRender:
    planned: PlannedContact
    version: Version
    # None if the version has no contact step with this id.
    step: ContactStep | None
    # Loaded only if the step uses attachments.
    attachments: tuple[MessageAttachment, ...] = ()
    # Computed only if a text of the step uses it.
    pay_by: date | None = None


async def render_leased(
    letters: LetterFiles, source: MessageSource, leased: Sequence[ContactToRender], now: datetime
) -> list[RenderingOutcome]:
    """Return one outcome for each contact, in order. Letters are printed concurrently. `now` is the
    merchant's time."""
    printed = [
        asyncio.create_task(_print(letters, source, each, now))
        for each in leased
        if each.planned.contact.channel == "LETTER"
    ]
    printing = iter(printed)
    outcomes = [
        next(printing) if each.planned.contact.channel == "LETTER" else _render(source, each, now)
        for each in leased
    ]
    await asyncio.gather(*printed)
    return [each.result() if isinstance(each, asyncio.Task) else each for each in outcomes]


def _render(source: MessageSource, to_render: ContactToRender, now: datetime) -> RenderingOutcome:
    try:
        execution = _decide_execution(source, to_render, now)
        if not isinstance(execution, StepExecution):
            return execution
        return render_contact(source, to_render.planned, execution)
    except Exception as error:  # noqa: BLE001 - logged by _hold_after_error
        return _hold_after_error(to_render, error, now)


async def _print(
    letters: LetterFiles, source: MessageSource, to_render: ContactToRender, now: datetime
) -> RenderingOutcome:
    try:
        execution = _decide_execution(source, to_render, now)
        if not isinstance(execution, StepExecution):
            return execution
        enclosures = await letters.list_enclosures(to_render.attachments)
        rendered = render_contact(source, to_render.planned, execution, enclosures)
        if isinstance(rendered, Permanent):
            return rendered
        assert rendered.sheet is not None
        contact_id = to_render.planned.contact.communication_id
        merchant_id = source.merchant.merchant_id
        key, pdf = await letters.print_letter(merchant_id, contact_id, rendered.sheet)
        return replace(rendered, content=replace(rendered.content, document_key=key), pdf=pdf)
    except ScriptMissing as error:
        return Permanent(describe_missing_scripts(error))
    except Exception as error:  # noqa: BLE001 - logged by _hold_after_error
        return _hold_after_error(to_render, error, now)


def _decide_execution(
    source: MessageSource, to_render: ContactToRender, now: datetime
) -> StepExecution | ContactHold | AttachmentMissing | ContactTooLate | Permanent:
    if to_render.step is None:
        return Permanent("the step was removed from the workflow")
    configuration, channel = source.merchant.configuration, to_render.planned.contact.channel
    workflow = get_prepared_workflow(to_render.version, configuration)
    limit, ready_at = workflow.skip_contacts_older_than, to_render.planned.ready_at
    if limit is not None and ready_at is not None and now - ready_at > limit:
        return ContactTooLate()
    hold = build_sending_hours(workflow, to_render.step, channel, configuration).find_hold(now)
    if hold is not None:
        return hold
    refusal = _find_refusal(
        source, to_render.planned, to_render.version.definition.templates[to_render.step.template]
    )
    if refusal is not None:
        return refusal
    if to_render.step.attachments == "REQUIRED" and not to_render.attachments:
        return AttachmentMissing()
    today: date = workflow.calendar.local_date(now)
    # Files are not sent with an SMS; its link leads to them.
    can_carry_files = channel != "SMS"
    ids = tuple(file.attachment_id for file in to_render.attachments) if can_carry_files else ()
    return StepExecution(
        to_render.version, to_render.step, today=today, pay_by=to_render.pay_by, attachment_ids=ids
    )


def _find_refusal(
    source: MessageSource, planned: PlannedContact, template: Template
) -> Permanent | None:
    """Return a refusal if the address or the text for the channel has been removed since the
    contact was planned; the next channel is then used."""
    contact = planned.contact
    usable = list_usable_channels(
        source.merchant.configuration.channels,
        email=contact.email, mobile_number=contact.mobile_number, address=contact.address,
    )  # fmt: skip
    if contact.channel not in usable:
        return Permanent(f"the debtor can no longer be reached by {contact.channel}")
    if contact.channel not in list_channels(template):
        return Permanent(f"the step no longer has a template for {contact.channel}")
    return None


def _hold_after_error(to_render: ContactToRender, error: Exception, now: datetime) -> ContactHold:
    log.error(
        "message not rendered",
        communication_id=str(to_render.planned.contact.communication_id),
        claim_id=to_render.planned.contact.claim_id,
        error=type(error).__name__,
        exc_info=error,
    )
    pause = _RETRY_AFTER_OUTAGE if isinstance(error, Unavailable | OSError) else _RETRY_AFTER_FAULT
    return ContactHold(now + pause)


async def add_pay_by(
    tx: Connection,
    keys: KeyRing,
    merchant: Merchant,
    leased: Sequence[ContactToRender],
    now: datetime,
) -> list[ContactToRender]:
    """Return the contacts in their order, with the pay-by date added to those whose texts use it.

    `now` is the merchant's time.
    """
    cache: dict[tuple[UUID, int, Channel], bool] = {}
    claim_ids = {each.planned.contact.claim_id for each in leased if _uses_pay_by(each, cache)}
    if not claim_ids:
        return list(leased)
    claims = {
        each.claim_id: each for each in await load_claims(tx, keys, merchant, list(claim_ids))
    }
    identities = {
        claim_id: list_identities(keys, merchant.merchant_id, build_debtor_person(claim))
        for claim_id, claim in claims.items()
    }
    all_identities = [each for digests in identities.values() for each in digests]
    contacted_on = await load_contact_days(tx, merchant.merchant_id, all_identities)

    def add(to_render: ContactToRender) -> ContactToRender:
        claim = claims.get(to_render.planned.contact.claim_id)
        if claim is None or not _uses_pay_by(to_render, cache):
            return to_render
        guard = build_person_guard(merchant.configuration, identities[claim.claim_id], contacted_on)
        pay_by = _compute_pay_by(merchant, to_render, claim, guard=guard, now=now)
        return replace(to_render, pay_by=pay_by)

    return [add(each) for each in leased]


def compute_pay_by(
    workflow: PreparedWorkflow, contact: ContactPlanned, facts: StepFacts, now: datetime, *,
    next_step_id: int | None = None, guard: Guard | None = None,
) -> date | None:  # fmt: skip
    """Return the pay-by date of a contact that is made now.

    `next_step_id` is the claim's position, if it is not at the contact's step.
    """
    pending = PendingContact(
        contact, now, contact.step.id if next_step_id is None else next_step_id
    )
    steps = forecast(workflow, pending, facts, now, until=now + FORECAST_HORIZON, guard=guard)
    next(steps, None)  # Skip the contact itself.
    arrives_at = workflow.compute_letter_arrival(now) if contact.channel == "LETTER" else now
    return find_pay_by(steps, workflow.calendar, workflow.calendar.local_date(arrives_at))


def _compute_pay_by(
    merchant: Merchant, to_render: ContactToRender, claim: DueClaim, guard: Guard, now: datetime
) -> date | None:
    assert to_render.step is not None
    workflow = get_prepared_workflow(to_render.version, merchant.configuration)
    contact = to_render.planned.contact
    return compute_pay_by(
        workflow,
        ContactPlanned(to_render.step, contact.place, contact.channel),
        claim.step_facts(workflow.calendar.local_date(now)),
        now,
        next_step_id=claim.position.next_step_id,
        guard=guard,
    )


def _uses_pay_by(to_render: ContactToRender, cache: dict[tuple[UUID, int, Channel], bool]) -> bool:
    """Return whether a text of the step names the pay-by date. `cache` holds the answer for
    each step."""
    if to_render.step is None:
        return False
    channel = to_render.planned.contact.channel
    key = (to_render.version.version_id, to_render.step.id, channel)
    if key not in cache:
        cache[key] = _names_pay_by(to_render.version.definition, to_render.step, channel)
    return cache[key]


def _names_pay_by(definition: Definition, step: ContactStep, channel: Channel) -> bool:
    template = definition.templates.get(step.template)
    if template is None:
        return False
    by_field = get_channel_texts(template, channel)
    texts = [text for each in by_field.values() for text in _list_texts(each)]
    snippets = {name for text in texts for name in list_snippets(text)}
    texts += [text for name in snippets for text in _list_texts(definition.snippets.get(name, {}))]
    return any(PAY_BY in list_used_placeholders(text) for text in texts)


def _list_texts(texts: Texts) -> list[str]:
    return list(texts.values())
