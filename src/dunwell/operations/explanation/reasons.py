"""Why a claim's process stands where it stands, in sentences for a person.

Codes stay beside the words: programs read those, people read these. Pure.
"""

from collections.abc import Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

from dunwell.contact.messages.guards import HeldBy
from dunwell.core.claims.holds import Hold, HoldKind
from dunwell.core.workflows.definition import CommunicationStep, Definition, Step, WaitStep
from dunwell.operations.explanation.records import OpenContact, PastStep, Standing
from dunwell.platform.errors import Said

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
    HeldBy.PERSON_DIED: "somebody has said that the person has died",
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


def say_past(step: PastStep, *, is_wait: bool = False) -> Said:
    """What became of a step, and why. A wait is recorded when it starts."""
    code, _, rest = (step.reason or "").partition(" ")
    if is_wait and step.outcome == "DONE":
        return Said("WAIT_STARTED", "started")
    if step.outcome == "DONE":
        channel = code if code in {"EMAIL", "SMS", "LETTER"} else ""
        return Said("STEP_DONE", f"sent by {code}" if channel else "done", channel=channel)
    words = _OUTCOMES.get(code, code)
    named = f" ({', '.join(rest.split())})" if rest else ""
    return Said(
        "STEP_NOT_DONE", f"{'skipped' if step.outcome == 'SKIPPED' else 'failed'}: {words}{named}",
        outcome=step.outcome, why=code, named=", ".join(rest.split()),
    )  # fmt: skip


def say_hold(hold: Hold, zone: str) -> Said:
    until = f", until {say_instant(hold.until, zone)}" if hold.until else ""
    since = say_instant(hold.since, zone)
    return Said(
        f"HOLD_{hold.kind}", f"{_HOLDS[hold.kind]}, since {since}{until}",
        since=hold.since, until=hold.until,
    )  # fmt: skip


def say_contact(contact: OpenContact, standing: Standing, zone: str) -> Said:
    """What a contact that is under way waits for."""
    if contact.state == "UNKNOWN":
        return Said(
            "CONTACT_UNKNOWN",
            "it may have left the house: a person has to say whether it was sent",
        )
    if contact.state == "HANDED_OVER":
        return Said("CONTACT_LEAVES", "it is being sent")
    return _say_waiting(contact, standing, zone)


def _say_waiting(contact: OpenContact, standing: Standing, zone: str) -> Said:
    """Of one that was not handed over yet. It is looked at once more before, so that a
    hold that came meanwhile keeps it."""
    until = say_instant(contact.not_before, zone)
    if standing.held:
        held = "it is not sent while a hold stands; it goes on when the last falls"
        return Said("CONTACT_HELD", held)
    if contact.state == "ATTACHMENT_MISSING":
        return Said(
            "CONTACT_WAITS", f"it waits for an attachment, until {until}", until=contact.not_before
        )
    if contact.held_by is None:
        return Said("CONTACT_NEXT", "it is about to be sent")
    return Said(
        "CONTACT_KEPT", f"held back until {until}: {_HELD_BY[HeldBy(contact.held_by)]}",
        until=contact.not_before, by=contact.held_by,
    )  # fmt: skip


def say_why_none(standing: Standing) -> Said:
    """Why no step comes next; empty: one does."""
    if standing.status == "COLLECTED":
        return Said("COLLECTED", "The claim is collected; nobody is contacted any more.")
    if standing.status in {"ARCHIVED", "WITHDRAWN"}:
        ended = f"The claim has ended ({standing.status})."
        return Said("CLAIM_OVER", ended, status=standing.status)
    if standing.workflow_id is None:
        return Said("NO_PROCESS", "No process runs: the claim is not assigned.")
    return Said("", "")


def say_standstill() -> Said:
    return Said(
        "STANDSTILL", "The process stands still under a hold; it goes on when the last falls."
    )


def say_why_then(
    standing: Standing, definition: Definition, step: Step | None, history: Sequence[PastStep]
) -> Said:
    """Why the next step runs at the claim's due time."""
    if step is None:
        return Said("ALL_DONE", "All steps are done; the claim is archived then.")
    last = history[-1] if history else None
    steps = {each.id: each for each in definition.steps}
    before = steps.get(last.step_id) if last else None
    if isinstance(before, WaitStep) and last is not None and last.outcome == "DONE":
        return Said("WAIT_ENDS", f'The wait "{before.name}" ends then.', name=before.name)
    if isinstance(step, CommunicationStep) and step.send == "CONTACT_HOURS":
        hours = "It is the next step, and people may be contacted from then on."
        return Said("CONTACT_HOURS", hours)
    if before is not None:
        return Said("FOLLOWS", f'It follows "{before.name}", which is done.', name=before.name)
    if definition.settings.processing_start == "DUE_DATE":
        starts = "The process starts with the due date of the first PRIMARY item."
        return Said("DUE_DATE_STARTS", starts)
    return Said("FIRST", "It is the first step of the process.") if standing.run else Said("", "")
