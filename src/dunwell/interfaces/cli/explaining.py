"""The work of `dunwell explain`: explain the status of a claim."""

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

    async def change(work: Work, resources: Resources) -> tuple[ClaimExplanation, str]:
        told = render_explanation(await explain_claim(work, resources.keys, claim))
        return told, work.merchant.configuration.timezone

    told, zone = run_use_case(data_dir, "explain", find_merchant_by_key(merchant), change)
    if is_json:
        echo_json(told)
    else:
        click.echo("\n".join(_render(told, ZoneInfo(zone))))


def _render(told: ClaimExplanation, zone: ZoneInfo) -> Iterator[str]:
    yield f"Claim {told.claim_id}: {told.status}"
    if told.reason:
        yield told.reason
    yield from _render_process(told)
    yield from _render_rules(told)
    if told.history:
        yield "History:"
        for step in told.history:
            yield f"  {_render_at(step.at, zone)}  {step.name}: {step.reason}"
    for hold in told.holds:
        yield f"Hold: {hold.reason}"
    if told.next_step is not None:
        step_at = told.next_step.at
        when = _render_at(step_at, zone) if step_at else "not known yet"
        yield f"Next: {told.next_step.name} ({told.next_step.kind}), {when}"
        yield f"  {told.next_step.reason}"
        if told.next_step.unmet:
            yield f"  It would currently be skipped: {', '.join(told.next_step.unmet)}"
    if told.next_contacts:
        yield "Next contacts, if nothing is paid:"
        for each in told.next_contacts:
            yield f"  {_render_at(each.at, zone)}  {each.channel:6}  {each.name}"


def _render_at(instant: str, zone: ZoneInfo) -> str:
    return f"{datetime.fromisoformat(instant).astimezone(zone):%a %Y-%m-%d %H:%M}"


def _render_process(told: ClaimExplanation) -> Iterator[str]:
    process = told.assignment
    if process is not None:
        chosen = "assigned directly"
        if process.rules_version is not None:
            chosen = f"chosen by rules {process.rules_version}"
        version = f" {process.version}" if process.version else ""
        yield f'Workflow: "{process.name}"{version}, {chosen}'


def _render_rules(told: ClaimExplanation) -> Iterator[str]:
    rules = told.rules
    if rules.version is None:
        yield "Rules: none are published"
        return
    yield f"Rules {rules.version}, for the claim as it is now:"
    for rule in rules.rules:
        yield f"  {rule.name}: {rule.reason}"
    if rules.default is not None:
        yield f"  default: {rules.default}"
