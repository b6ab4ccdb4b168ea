"""The pay-by date of contacts about to be written, for those whose texts name it.

It follows from what the process does if the contact is accepted now and nothing is paid. A set of
contacts takes as many statements as one.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime
from uuid import UUID

from dunwell.accounts.merchants.configuration import Channel
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.contact.escalation.announcing import find_pay_by
from dunwell.contact.escalation.due_claim import DueClaim
from dunwell.contact.escalation.due_claim_store import load_claims
from dunwell.contact.escalation.forecast import Guard, UnderWay, forecast
from dunwell.contact.escalation.person_guard import make_person_guard
from dunwell.contact.escalation.process import Process, find_process
from dunwell.contact.escalation.render_leased import Leased
from dunwell.contact.escalation.running_claims import FARTHEST, find_person
from dunwell.contact.escalation.schedule import ContactPlanned, StepFacts
from dunwell.contact.messages.guard_store import load_contacted
from dunwell.contact.messages.guards import Days
from dunwell.contact.messages.identities import identify
from dunwell.contact.messages.placeholders import PAY_BY, find_snippets, find_used
from dunwell.core.workflows.definition import CommunicationStep, Definition, Texts
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Connection


async def add_pay_by(
    tx: Connection, keys: KeyRing, merchant: Merchant, leased: Sequence[Leased], now: datetime
) -> list[Leased]:
    """Return the same contacts in their order; those whose texts name a pay-by date have theirs.

    now: the merchant's time.
    """
    known: dict[tuple[UUID, int, Channel], bool] = {}
    wanting = {each.planned.contact.claim_id for each in leased if _wants(each, known)}
    if not wanting:
        return list(leased)
    claims = {each.claim_id: each for each in await load_claims(tx, keys, merchant, list(wanting))}
    identities = {
        claim_id: identify(keys, merchant.merchant_id, find_person(claim))
        for claim_id, claim in claims.items()
    }
    asked = [each for of_claim in identities.values() for each in of_claim]
    contacted_on = await load_contacted(tx, merchant.merchant_id, asked)

    def add(each: Leased) -> Leased:
        claim = claims.get(each.planned.contact.claim_id)
        if claim is None or not _wants(each, known):
            return each
        of_claim = (identities[claim.claim_id], contacted_on)
        return replace(each, pay_by=_find_day(merchant, each, claim=claim, known=of_claim, now=now))

    return [add(each) for each in leased]


def foresee_pay_by(
    process: Process, contact: ContactPlanned, facts: StepFacts, now: datetime, *,
    next_step_id: int | None = None, guard: Guard | None = None,
) -> date | None:  # fmt: skip
    """Return the pay-by date of a contact that is made now.

    next_step_id: where its claim stands, if not before the contact's step.
    """
    stands = UnderWay(contact, now, contact.step.id if next_step_id is None else next_step_id)
    foreseen = forecast(process, stands, facts, now, until=now + FARTHEST, guard=guard)
    next(foreseen, None)  # the contact itself
    arrives_at = process.find_letter_arrival(now) if contact.channel == "LETTER" else now
    return find_pay_by(foreseen, process.calendar, process.calendar.local_date(arrives_at))


def _find_day(
    merchant: Merchant, each: Leased, claim: DueClaim,
    known: tuple[tuple[bytes, ...], dict[bytes, Days]], now: datetime,
) -> date | None:  # fmt: skip
    assert each.step is not None
    process = find_process(each.version, merchant.configuration)
    contact = each.planned.contact
    return foresee_pay_by(
        process,
        ContactPlanned(each.step, contact.place, contact.channel),
        claim.step_facts(process.calendar.local_date(now)),
        now,
        next_step_id=claim.position.next_step_id,
        guard=make_person_guard(merchant.configuration, *known),
    )


def _wants(each: Leased, known: dict[tuple[UUID, int, Channel], bool]) -> bool:
    """known: of the steps of a set, which are few."""
    if each.step is None:
        return False
    channel = each.planned.contact.channel
    key = (each.version.version_id, each.step.id, channel)
    if key not in known:
        known[key] = _names_day(each.version.definition, each.step, channel)
    return known[key]


def _names_day(definition: Definition, step: CommunicationStep, channel: Channel) -> bool:
    template = definition.templates.get(step.template)
    if template is None:
        return False
    part = {"EMAIL": template.email, "SMS": template.sms, "LETTER": template.letter}[channel]
    if part is None:
        return False
    texts = [*_list_texts(part.body), *_list_texts(getattr(part, "subject", {}))]
    snippets = {name for text in texts for name in find_snippets(text)}
    texts += [text for name in snippets for text in _list_texts(definition.snippets.get(name, {}))]
    return any(PAY_BY in find_used(text) for text in texts)


def _list_texts(texts: Texts) -> list[str]:
    return list(texts.values())
