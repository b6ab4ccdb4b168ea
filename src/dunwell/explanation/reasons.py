"""Why a claim's process stands where it stands, in sentences for a person.

Codes stay beside the words: programs read those, people read these. Pure.
"""

from collections.abc import Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

from dunwell.claims.holds import Hold, HoldKind
from dunwell.explanation.records import OpenContact, PastStep, Standing
from dunwell.messages.guards import HeldBy
from dunwell.workflows.definition import CommunicationStep, Definition, Step, WaitStep

_HOLDS = {
    HoldKind.DISPUTE: "the claim is disputed",
    HoldKind.PAUSE: "the process was paused",
    HoldKind.MODALITY_REQUESTED: "a payment modality was asked for and not answered yet",
    HoldKind.MODALITY_ACTIVE: "a payment plan or a deferment runs",
    HoldKind.PAYMENT_PENDING: "a payment is under way",
}
_HELD_BY = {
    HeldBy.GUARD_DAY: "the person was contacted on that day already, for this or another claim",
    HeldBy.GUARD_WEEK: "the person was contacted often enough in these seven days",
    HeldBy.QUIET_HOURS: "it fell into the merchant's quiet hours",
    HeldBy.CONTACT_HOURS: "it fell outside the contact hours",
}
_OUTCOMES = {
    "GUARD_UNMET": "its conditions do not hold",
    "NOBODY_REACHED": "this run has reached nobody yet, so nobody is charged",
    "TOO_LATE": "it was missed by a standstill longer than the late policy allows",
    "NOBODY_REACHABLE": "no channel of the step reaches the debtor",
    "ATTACHMENT_MISSING": "the attachment it requires did not come in time",
    "TAKEN_OUT": "the step was taken out of the process",
}


def say_instant(instant: datetime, zone: str) -> str:
    """2026-03-09 10:00 Europe/Berlin."""
    return f"{instant.astimezone(ZoneInfo(zone)):%Y-%m-%d %H:%M} {zone}"


def say_past(step: PastStep) -> str:
    """What became of a step, and why."""
    code, _, rest = (step.reason or "").partition(" ")
    if step.outcome == "DONE":
        return f"sent by {code}" if code in {"EMAIL", "SMS", "LETTER"} else "done"
    words = _OUTCOMES.get(code, code)
    named = f" ({', '.join(rest.split())})" if rest else ""
    return f"{'skipped' if step.outcome == 'SKIPPED' else 'failed'}: {words}{named}"


def say_hold(hold: Hold, zone: str) -> str:
    until = f", until {say_instant(hold.until, zone)}" if hold.until else ""
    return f"{_HOLDS[hold.kind]}, since {say_instant(hold.since, zone)}{until}"


def say_contact(contact: OpenContact, standing: Standing, zone: str) -> str:
    """What a contact that is under way waits for."""
    if contact.state == "UNKNOWN":
        return "it may have left the house: a person has to say whether it was sent"
    if contact.state == "HANDED_OVER":
        return "it is being sent"
    return _say_waiting(contact, standing, zone)


def _say_waiting(contact: OpenContact, standing: Standing, zone: str) -> str:
    """Of one that was not handed over yet. It is looked at once more before, so that a
    hold that came meanwhile keeps it."""
    until = say_instant(contact.not_before, zone)
    if standing.held:
        return "it is not sent while a hold stands; it goes on when the last falls"
    if contact.state == "ATTACHMENT_MISSING":
        return f"it waits for an attachment, until {until}"
    if contact.held_by is None:
        return "it is about to be sent"
    return f"held back until {until}: {_HELD_BY[HeldBy(contact.held_by)]}"


def say_why_none(standing: Standing) -> str:
    """Why no step comes next; empty: one does."""
    if standing.status == "COLLECTED":
        return "The claim is collected; nobody is contacted any more."
    if standing.status in {"ARCHIVED", "WITHDRAWN"}:
        return f"The claim has ended ({standing.status})."
    if standing.workflow_id is None:
        return "No process runs: the claim is not assigned."
    return ""


def say_why_then(
    standing: Standing, definition: Definition, step: Step | None, history: Sequence[PastStep]
) -> str:
    """Why the next step runs at the claim's due time."""
    if step is None:
        return "All steps are done; the claim is archived then."
    last = history[-1] if history else None
    steps = {each.id: each for each in definition.steps}
    before = steps.get(last.step_id) if last else None
    if isinstance(before, WaitStep) and last is not None and last.outcome == "DONE":
        return f'The wait "{before.name}" ends then.'
    if isinstance(step, CommunicationStep) and step.send == "CONTACT_HOURS":
        return "It is the next step, and people may be contacted from then on."
    if before is not None:
        return f'It follows "{before.name}", which is done.'
    if definition.settings.processing_start == "DUE_DATE":
        return "The process starts with the due date of the first PRIMARY item."
    return "It is the first step of the process." if standing.run else ""
