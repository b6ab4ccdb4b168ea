"""Turns leased contacts into messages, outside any transaction: e-mails and texts at once, letters
by processes of their own. One contact that cannot be rendered stops no other of its set.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta

import structlog

from dunwell.contact.escalation.compose_contact import Occasion, render_contact
from dunwell.contact.escalation.letterhead import Letterhead
from dunwell.contact.escalation.process import find_process
from dunwell.contact.escalation.reach import find_usable_channels
from dunwell.contact.escalation.sending_hours import find_sending_hours
from dunwell.contact.escalation.settlement import MissedInStandstill, WithoutAttachment
from dunwell.contact.messages.contact import PlannedContact, RenderedContact
from dunwell.contact.messages.guards import KeptBack
from dunwell.contact.messages.letters.letter_files import LetterFiles
from dunwell.contact.messages.letters.printer import ScriptMissing, describe_missing
from dunwell.contact.sending.channel import Permanent
from dunwell.core.files.store import Attachment
from dunwell.core.workflows.definition import CommunicationStep, Template
from dunwell.core.workflows.definition_rules import channels_of
from dunwell.core.workflows.versions.versions import Version
from dunwell.platform.errors import Unavailable

_AFTER_FAULT = timedelta(hours=1)
# A storage that is away or full comes back.
_AFTER_ABSENCE = timedelta(minutes=1)

log = structlog.get_logger(__name__)

# A message; until when it must not be sent; a missing attachment; a refusal.
Outcome = RenderedContact | KeptBack | WithoutAttachment | MissedInStandstill | Permanent


@dataclass(frozen=True, slots=True)
class Leased:
    planned: PlannedContact
    version: Version
    # None: the version has no such step to contact anybody by.
    step: CommunicationStep | None
    # None looked for unless the step wants them.
    attachments: tuple[Attachment, ...] = ()
    # Looked for only where the text names it.
    pay_by: date | None = None


async def render_leased(
    letters: LetterFiles, head: Letterhead, leased: Sequence[Leased], now: datetime
) -> list[Outcome]:
    """One outcome each, in order. Printing takes its time; the others do not wait for it one by
    one."""
    printed = [
        asyncio.create_task(_print(letters, head, each, now))
        for each in leased
        if each.planned.contact.channel == "LETTER"
    ]
    printing = iter(printed)
    outcomes = [
        next(printing) if each.planned.contact.channel == "LETTER" else _render(head, each, now)
        for each in leased
    ]
    await asyncio.gather(*printed)
    return [each.result() if isinstance(each, asyncio.Task) else each for each in outcomes]


def _render(head: Letterhead, each: Leased, now: datetime) -> Outcome:
    try:
        occasion = _decide_occasion(head, each, now)
        if not isinstance(occasion, Occasion):
            return occasion
        return render_contact(head, each.planned, occasion)
    except Exception as error:  # noqa: BLE001 - logged there
        return _keep_back(each, error, now)


async def _print(letters: LetterFiles, head: Letterhead, each: Leased, now: datetime) -> Outcome:
    try:
        occasion = _decide_occasion(head, each, now)
        if not isinstance(occasion, Occasion):
            return occasion
        enclosures = await letters.describe(each.attachments)
        rendered = render_contact(head, each.planned, occasion, enclosures)
        if isinstance(rendered, Permanent):
            return rendered
        assert rendered.sheet is not None
        contact_id = each.planned.contact.communication_id
        merchant_id = head.merchant.merchant_id
        key, pdf = await letters.print_letter(merchant_id, contact_id, rendered.sheet)
        return replace(rendered, content=replace(rendered.content, document_key=key), pdf=pdf)
    except ScriptMissing as error:
        return Permanent(describe_missing(error))
    except Exception as error:  # noqa: BLE001 - logged there
        return _keep_back(each, error, now)


def _decide_occasion(
    head: Letterhead, each: Leased, now: datetime
) -> Occasion | KeptBack | WithoutAttachment | MissedInStandstill | Permanent:
    if each.step is None:
        return Permanent("the step was taken out")
    configuration, channel = head.merchant.configuration, each.planned.contact.channel
    process = find_process(each.version, configuration)
    limit, ready_at = process.skip_contacts_older_than, each.planned.ready_at
    if limit is not None and ready_at is not None and now - ready_at > limit:
        return MissedInStandstill()
    hold = find_sending_hours(process, each.step, channel, configuration).find_hold(now)
    if hold is not None:
        return hold
    lost = _find_loss(head, each.planned, each.version.definition.templates[each.step.template])
    if lost is not None:
        return lost
    if each.step.attachments == "REQUIRED" and not each.attachments:
        return WithoutAttachment()
    today: date = process.calendar.local_date(now)
    # An SMS carries no files; its link leads to them.
    carries = channel != "SMS"
    ids = tuple(file.attachment_id for file in each.attachments) if carries else ()
    return Occasion(each.version, each.step, today=today, pay_by=each.pay_by, attachment_ids=ids)


def _find_loss(head: Letterhead, planned: PlannedContact, template: Template) -> Permanent | None:
    """What was there when the contact was planned and is gone: it leads to the next channel."""
    contact = planned.contact
    usable = find_usable_channels(
        head.merchant.configuration.channels,
        email=contact.email, mobile_number=contact.mobile_number, address=contact.address,
    )  # fmt: skip
    if contact.channel not in usable:
        return Permanent(f"{contact.channel} does not reach the debtor any more")
    if contact.channel not in channels_of(template):
        return Permanent(f"the step has no text for {contact.channel} any more")
    return None


def _keep_back(each: Leased, error: Exception, now: datetime) -> KeptBack:
    log.error(
        "cannot be rendered",
        communication_id=str(each.planned.contact.communication_id),
        claim_id=each.planned.contact.claim_id,
        error=type(error).__name__,
        exc_info=error,
    )
    pause = _AFTER_ABSENCE if isinstance(error, Unavailable | OSError) else _AFTER_FAULT
    return KeptBack(now + pause)
