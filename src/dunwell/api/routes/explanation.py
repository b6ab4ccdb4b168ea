"""Explain a claim: which rules chose its process, what it did, what comes next and why."""

from typing import Any, cast

from msgspec import UNSET

from dunwell.api.call import Call
from dunwell.api.operation import Endpoint, Operation, Span
from dunwell.api.paths import read_claim_id
from dunwell.api.query import write_instant
from dunwell.api.routes.parameters import CLAIM_ID, MERCHANT_ID
from dunwell.api.schemas import explanation as wire
from dunwell.explanation.explain_claim import explain_claim
from dunwell.explanation.views import AssignmentView, HeldContactView, NextStepView, RulesView


def _show_done(step_id: int, name: str, at: str, reason: str) -> dict[str, Any]:
    """A step that is done, for the example."""
    return {
        "stepId": step_id,
        "name": name,
        "outcome": "DONE",
        "at": at,
        "version": "v1.0",
        "reason": reason,
    }


EXPLAIN_CLAIM = Operation(
    operation_id="explainClaim",
    method="GET",
    path="/merchants/{merchant_id}/claims/{claim_id}/explanation",
    tag="Claims",
    summary="Explain a claim",
    description=(
        "Why the claim stands where it stands: which assignment rules match and which do not, "
        "what became of each step of the present process, the next step, when and why, what holds "
        "it, and its next five contacts if nothing is paid. Codes are for programs; every "
        "`reason` is a sentence for a person."
    ),
    parameters=(MERCHANT_ID, CLAIM_ID),
    result=wire.ClaimExplanation,
    example={
        "claimId": 4711,
        "status": "IN_PROCESS",
        "assignment": {
            "name": "Standard dunning",
            "version": "v1.0",
            "rulesVersion": 3,
            "workflowId": "0195547a-1f40-7c3e-9a41-6f1f0c2f9d11",
        },
        "rules": {
            "version": 3,
            "rules": [
                {
                    "name": "Large claims",
                    "outcome": "UNMET",
                    "unmet": ["outstanding"],
                    "reason": "does not match: outstanding",
                }
            ],
            "default": "taken",
            "chosen": "Standard dunning",
        },
        "history": [
            _show_done(1, "First reminder", "2026-03-02T09:00:00.000Z", "sent by EMAIL"),
            _show_done(2, "Wait a week", "2026-03-02T09:00:00.000Z", "done"),
            _show_done(3, "Dunning fee", "2026-03-09T09:00:00.000Z", "done"),
            _show_done(4, "Ask the ERP", "2026-03-09T09:00:00.000Z", "done"),
            _show_done(5, "Last wait", "2026-03-09T09:00:00.000Z", "done"),
        ],
        "nextStep": {
            "stepId": 6,
            "name": "Last reminder",
            "kind": "COMMUNICATION",
            "at": "2026-03-23T09:00:00.000Z",
            "outcome": "RUN",
            "unmet": [],
            "reason": 'The wait "Last wait" ends then.',
        },
        "reason": "",
        "holds": [],
        "contact": None,
        "nextContacts": [
            {
                "at": "2026-03-23T09:00:01.000Z",
                "channel": "EMAIL",
                "stepId": 6,
                "name": "Last reminder",
            }
        ],
    },
    is_addition=True,
)


async def _explain(call: Call) -> wire.ClaimExplanation:
    claim_id = read_claim_id(call.path["claim_id"])
    call.query.check()
    told = await explain_claim(call.work, call.tools.resources.keys, claim_id)
    is_switched = call.merchant.switched_to_workflows
    return wire.ClaimExplanation(
        claim_id=told.claim_id,
        status=told.status.value,
        assignment=_show_assignment(told.assignment, is_switched=is_switched),
        rules=_show_rules(told.rules),
        history=[
            wire.ExplainedStep(
                each.step_id, each.name, cast("Any", each.outcome), write_instant(each.at),
                each.version if is_switched else None, each.reason,
            )
            for each in told.history
        ],
        next_step=_show_next(told.next_step),
        reason=told.reason,
        holds=[
            wire.ExplainedHold(
                cast("Any", each.kind), write_instant(each.since),
                write_instant(each.until) if each.until else None, each.by, each.reason,
            )
            for each in told.holds
        ],
        contact=_show_contact(told.contact),
        next_contacts=[
            wire.ExplainedNextContact(
                write_instant(each.at), each.channel, each.step_id, each.name
            )
            for each in told.next_contacts
        ],
    )  # fmt: skip


def _show_assignment(
    view: AssignmentView | None, *, is_switched: bool
) -> wire.ExplainedAssignment | None:
    """A merchant that is not switched knows scenarios, which have no versions."""
    if view is None:
        return None
    return wire.ExplainedAssignment(
        view.name,
        view.version if is_switched else None,
        view.rules_version,
        UNSET if is_switched or view.scenario_id is None else view.scenario_id,
        str(view.workflow_id) if is_switched else UNSET,
    )


def _show_rules(view: RulesView) -> wire.ExplainedRules:
    rules = [
        wire.ExplainedRule(each.name, cast("Any", each.outcome), list(each.unmet), each.reason)
        for each in view.rules
    ]
    return wire.ExplainedRules(view.version, rules, view.default, view.chosen)


def _show_next(view: NextStepView | None) -> wire.ExplainedNextStep | None:
    if view is None:
        return None
    return wire.ExplainedNextStep(
        view.step_id, view.name, cast("Any", view.kind),
        write_instant(view.at) if view.at else None,
        cast("Any", view.outcome), list(view.unmet), view.reason,
    )  # fmt: skip


def _show_contact(view: HeldContactView | None) -> wire.ExplainedContact | None:
    if view is None:
        return None
    return wire.ExplainedContact(
        str(view.reference), view.channel, cast("Any", view.state), cast("Any", view.held_by),
        write_instant(view.until) if view.until else None, view.reason,
    )  # fmt: skip


ENDPOINTS = (Endpoint(EXPLAIN_CLAIM, _explain, Span.CONNECTION),)
