"""Explain a claim: the rules that chose its workflow, its past and next steps, and its holds."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from msgspec import UNSET

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.assignment.matching import RuleMatch, match_rules
from dunwell.cases.assignment.rule_results import describe_default, describe_verdict
from dunwell.cases.assignment.rulebook import (
    Rulebook,
    compute_today,
    load_claim_facts,
    load_rulebook,
    load_rulebook_of_rules,
)
from dunwell.cases.assignment.store import find_rules_version
from dunwell.contact.escalation.contacts.store import find_statement_limit
from dunwell.contact.escalation.due_claim import DueClaim, compute_position
from dunwell.contact.escalation.forecast.person_guard import build_person_guard
from dunwell.contact.escalation.forecast.running_claim import AwaitedContact as RunningContact
from dunwell.contact.escalation.forecast.running_claim import (
    RunningClaim,
    build_debtor_person,
    forecast_claim,
)
from dunwell.contact.escalation.prepared_workflow import PreparedWorkflow, get_prepared_workflow
from dunwell.contact.escalation.schedule import StepFacts
from dunwell.contact.escalation.statement_age import StatementLimit
from dunwell.contact.escalation.store import load_claims
from dunwell.contact.messages.guards.store import load_contact_days
from dunwell.contact.messages.identities import list_identities
from dunwell.core.claims.conditions import list_unmet
from dunwell.core.claims.states import ACTIVE, Hold, Status
from dunwell.core.claims.store import load_holds
from dunwell.core.workflows.definition import CheckpointStep, ContactStep, FeeStep, WaitStep
from dunwell.core.workflows.store import load_newest
from dunwell.core.workflows.versions.versions import Version
from dunwell.operations.claim_status.reasons import (
    explain_contact,
    explain_due_time,
    explain_hold,
    explain_no_next_step,
    explain_past_step,
    explain_statement_limit,
    explain_workflow_hold,
)
from dunwell.operations.claim_status.store import (
    find_open_contact,
    list_past_steps,
    load_claim_state,
)
from dunwell.operations.claim_status.views import (
    ClaimExplanation,
    ClaimState,
    ExplainedAssignment,
    ExplainedContact,
    ExplainedHold,
    ExplainedNextContact,
    ExplainedNextStep,
    ExplainedRule,
    ExplainedRules,
    ExplainedStep,
    PastStep,
    StepKind,
    StoredOpenContact,
)
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import snapshot
from dunwell.platform.errors import NotFound
from dunwell.platform.text.translation import LazyText
from dunwell.platform.text.wire import render_instant


async def explain_rules(work: Work, claim_state: ClaimState) -> ExplainedRules:
    """Apply the rules by which the claim was assigned, or the current rules if it was assigned
    directly, to the claim as it is now. Its facts may have changed since it was assigned."""
    rulebook = await _load_rulebook(work, claim_state)
    facts = await load_claim_facts(
        work.tx, work.merchant_id, claim_state.claim_id, compute_today(work)
    )
    assert facts is not None, "the claim was found in this snapshot"
    match = match_rules(
        rulebook.rules,
        facts.conditions,
        facts.currency,
        targets=rulebook.targets,
        claim_id=claim_state.claim_id,
    )
    return build_explained_rules(rulebook, match)


def build_explained_rules(rulebook: Rulebook, match: RuleMatch) -> ExplainedRules:
    return ExplainedRules(
        version=rulebook.version,
        rules=tuple(
            ExplainedRule(each.name, each.outcome.value, each.unmet, describe_verdict(each))
            for each in match.verdicts
        ),
        default=None if match.default is None else describe_default(match),
        chosen=rulebook.names[match.workflow_id] if match.workflow_id else None,
    )


async def _load_rulebook(work: Work, claim_state: ClaimState) -> Rulebook:
    if claim_state.rules_version is None:
        return await load_rulebook(work.tx, work.merchant)
    chosen_by = await find_rules_version(work.tx, work.merchant_id, claim_state.rules_version)
    assert chosen_by is not None, "published rules are never deleted"
    return await load_rulebook_of_rules(work.tx, work.merchant, chosen_by.rules, chosen_by.version)


_MAX_CONTACTS = 5
_ARCHIVING = "Archiving"
_KINDS: dict[type, StepKind] = {
    ContactStep: "COMMUNICATION",
    WaitStep: "WAIT",
    FeeStep: "FEE",
    CheckpointStep: "CHECKPOINT",
}


@dataclass(frozen=True, slots=True)
class _LoadedClaim:
    """A claim with its workflow and everything that the explanation needs."""

    claim_state: ClaimState
    claim: DueClaim
    version: Version
    workflow: PreparedWorkflow
    facts: StepFacts
    history: Sequence[PastStep]
    holds: Sequence[Hold]
    contact: StoredOpenContact | None
    zone: str
    # False for a merchant that works with scenarios, which have no versions.
    is_switched: bool
    # Set while contacts wait for a bank statement.
    exceeded_limit: StatementLimit | None


async def explain_claim(work: Work, keys: KeyRing, claim_id: int) -> ClaimExplanation:
    """Explain the claim. Raises NotFound if it does not exist."""
    work.require(Right.READ_CLAIMS)
    async with snapshot(work.tx):
        claim_state = await load_claim_state(work.tx, work.merchant_id, claim_id)
        if claim_state is None:
            raise NotFound(f"There is no claim {claim_id}.")
        rules = await explain_rules(work, claim_state)
        holds = [
            hold
            for hold in await load_holds(work.tx, work.merchant_id, claim_id)
            if hold.is_active(work.now)
        ]
        loaded = await _load_claim(work, keys, claim_state, holds)
        contacts = await _forecast_contacts(work, keys, loaded) if loaded else ()
    zone = loaded.zone if loaded else work.merchant.configuration.timezone
    return ClaimExplanation(
        claim_id=claim_id,
        status=Status(claim_state.status).value,
        assignment=_describe_assignment(loaded) if loaded else None,
        rules=rules,
        history=_describe_history(loaded) if loaded else (),
        next_step=_describe_next(loaded) if loaded else None,
        reason=explain_no_next_step(claim_state),
        holds=tuple(_describe_hold(hold, zone) for hold in holds),
        contact=_describe_contact(loaded) if loaded else None,
        next_contacts=contacts,
    )


async def _load_claim(
    work: Work, keys: KeyRing, claim_state: ClaimState, holds: Sequence[Hold]
) -> _LoadedClaim | None:
    if claim_state.workflow_id is None or claim_state.workflow_major is None:
        return None
    key = (claim_state.workflow_id, claim_state.workflow_major)
    version = (await load_newest(work.tx, work.merchant_id, [key]))[key]
    workflow = get_prepared_workflow(version, work.merchant.configuration)
    [claim] = await load_claims(work.tx, keys, work.merchant, [claim_state.claim_id])
    run = (work.merchant_id, claim_state.claim_id, claim_state.run)
    return _LoadedClaim(
        claim_state=claim_state,
        claim=claim,
        version=version,
        workflow=workflow,
        facts=claim.step_facts(workflow.calendar.local_date(work.now)),
        history=await list_past_steps(work.tx, *run),
        holds=holds,
        contact=await find_open_contact(work.tx, *run),
        zone=workflow.calendar.zone.key,
        is_switched=work.merchant.switched_to_workflows,
        exceeded_limit=await _find_exceeded_limit(work, workflow),
    )


async def _find_exceeded_limit(work: Work, workflow: PreparedWorkflow) -> StatementLimit | None:
    account = work.merchant.configuration.payment.bank_account
    if account is None:
        return None
    limit = await find_statement_limit(work.tx, work.merchant_id, account.iban)
    today = workflow.calendar.local_date(work.now)
    return limit if limit is not None and limit.is_exceeded(today) else None


def _explain_contact(loaded: _LoadedClaim, contact: StoredOpenContact) -> LazyText:
    limit, claim_state = loaded.exceeded_limit, loaded.claim_state
    if limit is not None and contact.state == "PLANNED" and not claim_state.held:
        return explain_statement_limit(limit)
    return explain_contact(contact, claim_state, loaded.zone)


async def _forecast_contacts(
    work: Work, keys: KeyRing, loaded: _LoadedClaim
) -> tuple[ExplainedNextContact, ...]:
    if Status(loaded.claim_state.status) not in ACTIVE:
        return ()
    identities = list_identities(keys, work.merchant_id, build_debtor_person(loaded.claim))
    contacted_on = await load_contact_days(work.tx, work.merchant_id, identities)
    guard = build_person_guard(work.merchant.configuration, identities, contacted_on)
    forecast = forecast_claim(loaded.workflow, _build_running_claim(loaded), work.now, guard)
    contacts = (
        ExplainedNextContact(
            render_instant(each.at), each.channel, step_id=each.step.id, name=each.step.name
        )
        for each in forecast
        if each.channel is not None and each.step is not None
    )
    return tuple(islice(contacts, _MAX_CONTACTS))


def _build_running_claim(loaded: _LoadedClaim) -> RunningClaim:
    """Return the claim in the form that `forecast_claim` needs."""
    contact, until = loaded.contact, None
    if loaded.holds and all(hold.until for hold in loaded.holds):
        until = max(hold.until for hold in loaded.holds if hold.until)
    waiting = None
    if contact is not None:
        waiting = RunningContact(
            step_id=contact.step_id,
            place=contact.place,
            channel=contact.channel,
            state=contact.state,
            not_before=contact.not_before,
        )
    return RunningClaim(
        facts=loaded.claim,
        person="",
        is_held=bool(loaded.holds),
        held_until=until,
        open_contact=waiting,
    )


def _describe_assignment(loaded: _LoadedClaim) -> ExplainedAssignment:
    claim_state = loaded.claim_state
    name, rules_version = claim_state.workflow_name or "", claim_state.rules_version
    if loaded.is_switched:
        workflow_id = str(loaded.version.workflow_id)
        return ExplainedAssignment(
            name, loaded.version.name, rules_version, workflow_id=workflow_id
        )
    scenario_id = UNSET if claim_state.scenario_id is None else claim_state.scenario_id
    return ExplainedAssignment(name, None, rules_version, scenario_id=scenario_id)


def _describe_history(loaded: _LoadedClaim) -> tuple[ExplainedStep, ...]:
    order = {step.id: place for place, step in enumerate(loaded.workflow.steps)}
    names = {step.id: step.name for step in loaded.workflow.steps}
    wait_step_ids = {step.id for step in loaded.workflow.steps if isinstance(step, WaitStep)}
    ordered = sorted(
        loaded.history, key=lambda each: (each.at, order.get(each.step_id, len(order)))
    )
    return tuple(
        ExplainedStep(
            step_id=each.step_id,
            name=names.get(each.step_id, _ARCHIVING),
            outcome=each.outcome,
            at=render_instant(each.at),
            version=each.version if loaded.is_switched else None,
            reason=explain_past_step(each, is_wait=each.step_id in wait_step_ids),
        )
        for each in ordered
    )


def _describe_hold(hold: Hold, zone: str) -> ExplainedHold:
    return ExplainedHold(
        kind=hold.kind.value,
        since=render_instant(hold.since),
        until=render_instant(hold.until),
        by=hold.actor_kind.value,
        reason=explain_hold(hold, zone),
    )


def _describe_next(loaded: _LoadedClaim) -> ExplainedNextStep | None:
    """Describe the next step, or the step whose contact is not finished yet."""
    claim_state = loaded.claim_state
    if Status(claim_state.status) not in ACTIVE:
        return None
    position = compute_position(loaded.workflow, loaded.claim)
    step_id = loaded.contact.step_id if loaded.contact else position.next_step_id
    step = next((each for each in loaded.workflow.steps if each.id == step_id), None)
    unmet: tuple[str, ...] = ()
    if step is not None and loaded.contact is None:
        unmet = tuple(list_unmet(step.when, loaded.facts.condition))
    at = None if claim_state.held else claim_state.due_at
    reason: str
    if loaded.contact:
        reason = _explain_contact(loaded, loaded.contact)
        is_waiting = loaded.contact.state == "PLANNED" and not claim_state.held
        at = loaded.contact.not_before if is_waiting else None
    elif claim_state.held:
        reason = explain_workflow_hold()
    else:
        ordered = sorted(loaded.history, key=lambda each: each.at)
        reason = explain_due_time(claim_state, loaded.version.definition, step, ordered)
    return ExplainedNextStep(
        step_id=None if step is None else step.id,
        name=_ARCHIVING if step is None else step.name,
        kind="ARCHIVE" if step is None else _KINDS[type(step)],
        at=render_instant(at),
        outcome="SKIPPED" if unmet else "RUN",
        unmet=unmet,
        reason=reason,
    )


def _describe_contact(loaded: _LoadedClaim) -> ExplainedContact | None:
    contact = loaded.contact
    if contact is None:
        return None
    is_stopped = loaded.claim_state.held or Status(loaded.claim_state.status) not in ACTIVE
    is_waiting = contact.state in {"PLANNED", "ATTACHMENT_MISSING"} and not is_stopped
    return ExplainedContact(
        reference=str(contact.communication_id),
        channel=contact.channel,
        state=contact.state,
        held_by=contact.held_by,
        until=render_instant(contact.not_before) if is_waiting else None,
        reason=_explain_contact(loaded, contact),
    )
