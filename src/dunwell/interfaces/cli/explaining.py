"""Implement `dunwell explain`: explain the status of a claim."""

from collections.abc import Iterator
from datetime import datetime
from zoneinfo import ZoneInfo

import click

from dunwell.accounts.merchants.account import Work
from dunwell.interfaces.cli.output import echo_json
from dunwell.interfaces.cli.work import find_merchant_by_key, run_use_case
from dunwell.operations.claim_status.explain_claim import explain_claim
from dunwell.operations.claim_status.views import ClaimExplanation, render_explanation
from dunwell.platform.resources import Resources


def print_explanation(data_dir: str | None, merchant: str, claim: int, *, is_json: bool) -> None:
    """Print the explanation of the claim with this id of the merchant with this key."""

    async def explain(work: Work, resources: Resources) -> tuple[ClaimExplanation, str]:
        explanation = render_explanation(await explain_claim(work, resources.keys, claim))
        return explanation, work.merchant.configuration.timezone

    explanation, zone = run_use_case(data_dir, "explain", find_merchant_by_key(merchant), explain)
    if is_json:
        echo_json(explanation)
    else:
        click.echo("\n".join(_render(explanation, ZoneInfo(zone))))


def _render(explanation: ClaimExplanation, zone: ZoneInfo) -> Iterator[str]:
    yield f"Claim {explanation.claim_id}: {explanation.status}"
    if explanation.reason:
        yield explanation.reason
    yield from _render_assignment(explanation)
    yield from _render_rules(explanation)
    if explanation.history:
        yield "History:"
        for step in explanation.history:
            yield f"  {_render_at(step.at, zone)}  {step.name}: {step.reason}"
    for hold in explanation.holds:
        yield f"Hold: {hold.reason}"
    if explanation.next_step is not None:
        step_at = explanation.next_step.at
        when = _render_at(step_at, zone) if step_at else "not known yet"
        yield f"Next: {explanation.next_step.name} ({explanation.next_step.kind}), {when}"
        yield f"  {explanation.next_step.reason}"
        if explanation.next_step.unmet:
            yield f"  It would currently be skipped: {', '.join(explanation.next_step.unmet)}"
    if explanation.next_contacts:
        yield "Next contacts, if nothing is paid:"
        for each in explanation.next_contacts:
            yield f"  {_render_at(each.at, zone)}  {each.channel:6}  {each.name}"


def _render_at(instant: str, zone: ZoneInfo) -> str:
    return f"{datetime.fromisoformat(instant).astimezone(zone):%a %Y-%m-%d %H:%M}"


def _render_assignment(explanation: ClaimExplanation) -> Iterator[str]:
    assignment = explanation.assignment
    if assignment is not None:
        chosen = "assigned directly"
        if assignment.rules_version is not None:
            chosen = f"chosen by rules {assignment.rules_version}"
        version = f" {assignment.version}" if assignment.version else ""
        yield f'Workflow: "{assignment.name}"{version}, {chosen}'


def _render_rules(explanation: ClaimExplanation) -> Iterator[str]:
    rules = explanation.rules
    if rules.version is None:
        yield "Rules: none are published"
        return
    yield f"Rules {rules.version}, for the claim as it is now:"
    for rule in rules.rules:
        yield f"  {rule.name}: {rule.reason}"
    if rules.default is not None:
        yield f"  default: {rules.default}"
