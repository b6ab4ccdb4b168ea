"""Sentences that explain to people why a claim has its status. Programs use the codes instead.
Pure."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

from dunwell.accounts.merchants.configuration import CHANNELS
from dunwell.contact.escalation.statement_age import StatementLimit
from dunwell.contact.messages.guards.guards import HoldReason
from dunwell.core.claims.states import Hold, HoldKind
from dunwell.core.workflows.definition import ContactStep, Definition, Step, WaitStep
from dunwell.operations.claim_status.views import ClaimState, PastStep, StoredOpenContact
from dunwell.platform.text.translation import InstantText, LazyText

_HOLD_KIND_TEXTS = {
    HoldKind.DISPUTE: "the claim is disputed",
    HoldKind.PAUSE: "the workflow was paused",
    HoldKind.MODALITY_REQUESTED: "a payment plan or deferral was requested and is not answered yet",
    HoldKind.MODALITY_ACTIVE: "a payment plan or deferral is active",
    HoldKind.PAYMENT_PENDING: "a payment is in progress",
}
_DELAY_TEXTS: Mapping[HoldReason, LazyText] = {
    HoldReason.GUARD_DAY: LazyText(
        "the debtor was already contacted on that day, for this or another claim"
    ),
    HoldReason.GUARD_WEEK: LazyText("the weekly contact limit was reached"),
    HoldReason.QUIET_HOURS: LazyText("during the merchant's quiet hours"),
    HoldReason.CONTACT_HOURS: LazyText("outside the contact hours"),
    HoldReason.PERSON_DIED: LazyText("the debtor was reported deceased"),
}
# The sentences for the codes that are recorded with a step.
STEP_REASONS: Mapping[str, LazyText] = {
    "GUARD_UNMET": LazyText("its conditions are not met"),
    "NOBODY_REACHED": LazyText("no contact has succeeded in this run yet, so no fee is charged"),
    "TOO_LATE": LazyText("delayed by an outage for longer than the workflow allows"),
    "NOBODY_REACHABLE": LazyText("no channel of the step reaches the debtor"),
    "ATTACHMENT_MISSING": LazyText("the required attachment did not arrive in time"),
    "TAKEN_OUT": LazyText("the step was removed from the workflow"),
}


def render_instant(instant: datetime, zone: str) -> InstantText:
    """Return the instant in the zone, such as "2026-03-09 10:00 Europe/Berlin"."""
    text = f"{instant.astimezone(ZoneInfo(zone)):%Y-%m-%d %H:%M} {zone}"
    return InstantText(text, instant)


def render_step_reason(recorded: str) -> LazyText | str:
    """Return why a step was skipped. `recorded` is a code, which names of conditions may
    follow."""
    code, _, names = recorded.partition(" ")
    reason = STEP_REASONS.get(code, code)
    if not names:
        return reason
    return LazyText("%(reason)s (%(names)s)", reason=reason, names=", ".join(names.split()))


def explain_past_step(step: PastStep, *, is_wait: bool = False) -> LazyText:
    """Return the outcome of a step and the reason. A wait is recorded when it starts."""
    if is_wait and step.outcome == "DONE":
        return LazyText("started")
    if step.outcome == "DONE":
        channel, _, _ = (step.reason or "").partition(" ")
        if channel in CHANNELS:
            return LazyText("sent by %(channel)s", channel=channel)
        return LazyText("done")
    reason = render_step_reason(step.reason or "")
    if step.outcome == "SKIPPED":
        return LazyText("skipped: %(reason)s", reason=reason)
    return LazyText("failed: %(reason)s", reason=reason)


def explain_hold(hold: Hold, zone: str) -> str:
    until = f", until {render_instant(hold.until, zone)}" if hold.until else ""
    return f"{_HOLD_KIND_TEXTS[hold.kind]}, since {render_instant(hold.since, zone)}{until}"


def explain_contact(contact: StoredOpenContact, claim_state: ClaimState, zone: str) -> LazyText:
    """Return what an unfinished contact waits for."""
    if contact.state == "UNKNOWN":
        return LazyText("delivery status unknown: a user has to resolve it")
    if contact.state == "HANDED_OVER":
        return LazyText("it is being sent")
    return _explain_waiting(contact, claim_state, zone)


def _explain_waiting(contact: StoredOpenContact, claim_state: ClaimState, zone: str) -> LazyText:
    """Return what a contact that is not handed over yet waits for. A hold that was added in the
    meantime stops the contact, because holds are checked again before the hand-over."""
    until = render_instant(contact.not_before, zone)
    if claim_state.held:
        return LazyText(
            "not sent while the claim is on hold; sending continues when no hold is left"
        )
    if contact.state == "ATTACHMENT_MISSING":
        return LazyText("waiting for an attachment until %(until)s", until=until)
    if contact.held_by is None:
        return LazyText("it is about to be sent")
    reason = _DELAY_TEXTS[HoldReason(contact.held_by)]
    return LazyText("held back until %(until)s: %(reason)s", until=until, reason=reason)


def explain_statement_limit(limit: StatementLimit) -> LazyText:
    """Return the sentence that says why a contact waits for a bank statement."""
    return LazyText(
        "not sent while the newest statement of the bank account %(account)s is older than "
        "%(days)s banking days; its last day is %(reported_until)s",
        account=limit.account,
        days=limit.max_age_banking_days,
        reported_until=limit.reported_until.isoformat(),
    )


def explain_no_next_step(claim_state: ClaimState) -> str:
    """Return why there is no next step, or "" if there is one."""
    if claim_state.status == "COLLECTED":
        return LazyText("The claim is collected. The debtor is no longer contacted.")
    if claim_state.status in {"ARCHIVED", "WITHDRAWN"}:
        return LazyText("The claim is closed (%(claim_status)s).", claim_status=claim_state.status)
    if claim_state.workflow_id is None:
        return LazyText("No workflow is running because the claim is not assigned.")
    return ""


def explain_workflow_hold() -> LazyText:
    return LazyText("The workflow is on hold. It continues when no hold is left.")


def explain_due_time(
    claim_state: ClaimState, definition: Definition, step: Step | None, history: Sequence[PastStep]
) -> str:
    """Return why the next step is due at its time."""
    if step is None:
        return LazyText("All steps are done. The claim will be archived at this time.")
    last = history[-1] if history else None
    steps = {each.id: each for each in definition.steps}
    previous = steps.get(last.step_id) if last else None
    if isinstance(previous, WaitStep) and last is not None and last.outcome == "DONE":
        return LazyText('The wait "%(name)s" ends at this time.', name=previous.name)
    if isinstance(step, ContactStep) and step.send == "CONTACT_HOURS":
        return LazyText("It is the next step. Contacts are allowed again from this time.")
    if previous is not None:
        return LazyText('It follows "%(name)s", which is over.', name=previous.name)
    if last is not None:
        return LazyText("It follows a step that was removed from the workflow.")
    return _explain_start(claim_state, definition)


def _explain_start(claim_state: ClaimState, definition: Definition) -> str:
    """Return why the first step is due at its time."""
    if definition.settings.processing_start == "DUE_DATE":
        return LazyText("The workflow starts on the due date of the first PRIMARY item.")
    return LazyText("It is the first step of the workflow.") if claim_state.run else ""
