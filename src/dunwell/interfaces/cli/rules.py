"""`dunwell rules`: show, try, edit and publish a merchant's assignment rules."""

from pathlib import Path
from typing import Any, TextIO

import click
import msgspec

from dunwell.accounts.merchants.account import Work
from dunwell.cases.assignment.rule_results import describe_default, describe_verdict
from dunwell.cases.assignment.rulebook import Rulebook, find_draft_rulebook, load_rulebook
from dunwell.cases.assignment.rules import (
    RuleDocument,
    RulesDocument,
    parse_rules,
    render_document,
    render_rule,
)
from dunwell.cases.assignment.rules_draft import (
    RulesPublication,
    RulesReview,
    discard_rules_draft,
    publish_rules_draft,
    review_rules,
    save_rules_draft,
)
from dunwell.cases.assignment.rules_views import RulesView, get_rules
from dunwell.cases.assignment.store import find_rules_draft
from dunwell.cases.assignment.try_claim import (
    HypotheticalClaim,
    PossibleMatch,
    parse_hypothetical_claim,
    try_claim,
)
from dunwell.interfaces.cli.options import data_dir_option
from dunwell.interfaces.cli.output import confirm, echo_json, render_table
from dunwell.interfaces.cli.work import find_merchant_by_key, run_use_case
from dunwell.operations.claim_status.explain_claim import build_explained_rules
from dunwell.platform.errors import InvalidRequest, InvalidState
from dunwell.platform.resources import Resources
from dunwell.platform.text.yaml_document import InvalidDocument, parse_yaml


def render_view(view: RulesView) -> str:
    if view.published is None or view.published_rules is None:
        parts = ["no rules are published yet; claims stay unassigned"]
    else:
        at = f"{view.published_rules.published_at:%Y-%m-%d %H:%M} UTC"
        head = f"version {view.version}, published {at}"
        parts = [head, _render_rules(view.published)]
    if view.draft is not None and view.draft_rules is not None:
        head = f"draft, saved {view.draft_rules.saved_at:%Y-%m-%d %H:%M} UTC"
        parts += ["", head, _render_rules(view.draft)]
    return "\n".join(parts)


def build_rules_view(view: RulesView) -> dict[str, Any]:
    return {
        "version": view.version,
        "publishedAt": None if view.published_rules is None else view.published_rules.published_at,
        "published": None if view.published is None else render_document(view.published),
        "savedAt": None if view.draft_rules is None else view.draft_rules.saved_at,
        "draft": None if view.draft is None else render_document(view.draft),
    }


def render_review(review: RulesReview) -> list[str]:
    lines = [f"  {line}" for line in review.differences] or ["  no differences"]
    return lines + [f"  note: {line}" for line in review.remarks]


def render_possibilities(rulebook: Rulebook, possibilities: tuple[PossibleMatch, ...]) -> str:
    is_certain = len(possibilities) == 1
    return "\n\n".join(
        _render_possibility(rulebook, each, is_certain=is_certain) for each in possibilities
    )


def build_possibilities(
    rulebook: Rulebook, possibilities: tuple[PossibleMatch, ...]
) -> dict[str, list[dict[str, Any]]]:
    """Return the possible matches in the format in which the API explains them for a claim."""
    shown = [
        {"percent": each.percent, "rules": build_explained_rules(rulebook, each.match)}
        for each in possibilities
    ]
    return {"possibilities": shown}


def _render_possibility(rulebook: Rulebook, possibility: PossibleMatch, *, is_certain: bool) -> str:
    match, name = possibility.match, _find_workflow_name(rulebook, possibility)
    result = "stays unassigned" if name is None else f'gets "{name}"'
    head = (
        f"the claim {result}" if is_certain else f"{possibility.percent} % of such claims: {result}"
    )
    rows = [(verdict.name, describe_verdict(verdict)) for verdict in match.verdicts]
    table = render_table(("rule", "result"), [*rows, ("default", describe_default(match))])
    return f"{head}\n{table}"


def _find_workflow_name(rulebook: Rulebook, possibility: PossibleMatch) -> str | None:
    workflow_id = possibility.match.workflow_id
    return None if workflow_id is None else rulebook.names[workflow_id]


def _render_rules(document: RulesDocument) -> str:
    rows = [
        (
            str(number),
            rule.name,
            "yes" if rule.active else "no",
            _render_when(rule),
            _render_target(rule),
        )
        for number, rule in enumerate(document.rules, start=1)
    ]
    rows.append(("", "default", "", "", document.default or "none: the claim stays unassigned"))
    return render_table(("", "rule", "active", "when", "target"), rows)


def _render_when(rule: RuleDocument) -> str:
    when = render_rule(rule).get("when")
    if when is None:
        return "always"
    tests = (f"{name} {msgspec.json.encode(test).decode()}" for name, test in when.items())
    return ", ".join(tests)


def _render_target(rule: RuleDocument) -> str:
    if isinstance(rule.target, str):
        return rule.target
    return ", ".join(f"{share.percent} % {share.workflow}" for share in rule.target)


_JSON = click.option("--json", "is_json", is_flag=True, help="Print JSON.")


@click.group("rules", no_args_is_help=False)
def command() -> None:
    """Show, try, edit and publish the assignment rules of a merchant."""


@command.command("show")
@data_dir_option
@_JSON
@click.argument("merchant")
def show(data_dir: str | None, is_json: bool, merchant: str) -> None:
    """Print the published rules of MERCHANT (its key), and the draft if there is one."""

    async def query(work: Work, _: Resources) -> RulesView:
        return await get_rules(work)

    view = run_use_case(data_dir, "rules", find_merchant_by_key(merchant), query)
    if is_json:
        echo_json(build_rules_view(view))
    else:
        click.echo(render_view(view))


@command.command("draft")
@data_dir_option
@_JSON
@click.argument("merchant")
@click.argument("file", type=click.File(encoding="utf-8"))
def draft(data_dir: str | None, is_json: bool, merchant: str, file: TextIO) -> None:
    """Save FILE (YAML or JSON; - reads standard input) as the draft of MERCHANT's rules."""
    document = parse_rules(_parse_file(file))

    async def change(work: Work, _: Resources) -> RulesReview:
        return await save_rules_draft(work, document)

    review = run_use_case(data_dir, "rules", find_merchant_by_key(merchant), change)
    if is_json:
        echo_json(review)
    else:
        click.echo("\n".join(["draft of the rules saved", *render_review(review)]))


@command.command("publish")
@data_dir_option
@_JSON
@click.option("--yes", "is_sure", is_flag=True, help="Do not ask for confirmation.")
@click.argument("merchant")
def publish(data_dir: str | None, is_json: bool, is_sure: bool, merchant: str) -> None:
    """Publish the draft of MERCHANT's rules. The rules apply to claims created from then on."""
    if not is_sure:
        review = run_use_case(data_dir, "rules", find_merchant_by_key(merchant), _review_draft)
        click.echo("\n".join(render_review(review)), err=True)
        confirm("Publish these rules?", is_sure=is_sure)

    async def change(work: Work, _: Resources) -> RulesPublication:
        return await publish_rules_draft(work)

    publication = run_use_case(data_dir, "rules", find_merchant_by_key(merchant), change)
    if is_json:
        echo_json({"version": publication.version, **msgspec.to_builtins(publication.review)})
    else:
        words = f"assignment rules published as version {publication.version}"
        click.echo("\n".join([words, *render_review(publication.review)]))


async def _review_draft(work: Work, _: Resources) -> RulesReview:
    draft_rules = await find_rules_draft(work.tx, work.merchant_id)
    if draft_rules is None:
        raise InvalidState("The rules have no draft. Save one first.", state="PUBLISHED")
    return await review_rules(work, draft_rules.rules)


@command.command("discard")
@data_dir_option
@click.argument("merchant")
def discard(data_dir: str | None, merchant: str) -> None:
    """Discard the draft of MERCHANT's rules. The published rules stay in force."""

    async def change(work: Work, _: Resources) -> None:
        await discard_rules_draft(work)

    run_use_case(data_dir, "rules", find_merchant_by_key(merchant), change)
    click.echo("draft of the rules discarded")


@command.command("try")
@data_dir_option
@_JSON
@click.option(
    "--claim",
    "claim_id",
    type=click.IntRange(1, 2**63 - 1),
    help="The id of an existing claim.",
)
@click.option(
    "--facts", type=click.File(encoding="utf-8"), help="A hypothetical claim, JSON or YAML."
)
@click.option("--draft", "is_draft", is_flag=True, help="Try the draft, not the published rules.")
@click.argument("merchant")
def try_(
    data_dir: str | None, is_json: bool, claim_id: int | None, facts: TextIO | None,
    is_draft: bool, merchant: str,
) -> None:  # fmt: skip
    """Show which workflow MERCHANT's rules assign to a claim, and the result of each rule."""
    claim = _read_claim(claim_id, facts)

    async def query(work: Work, _: Resources) -> tuple[Rulebook, tuple[PossibleMatch, ...]]:
        rulebook = await _load_rulebook(work, is_draft=is_draft)
        return rulebook, await try_claim(work, rulebook, claim)

    rulebook, possibilities = run_use_case(data_dir, "rules", find_merchant_by_key(merchant), query)
    if is_json:
        echo_json(build_possibilities(rulebook, possibilities))
    else:
        click.echo(render_possibilities(rulebook, possibilities))


async def _load_rulebook(work: Work, *, is_draft: bool) -> Rulebook:
    if not is_draft:
        return await load_rulebook(work.tx, work.merchant)
    rulebook = await find_draft_rulebook(work.tx, work.merchant)
    if rulebook is None:
        raise InvalidState("The rules have no draft. Omit --draft.", state="PUBLISHED")
    return rulebook


def _read_claim(claim_id: int | None, facts: TextIO | None) -> int | HypotheticalClaim:
    if (claim_id is None) == (facts is None):
        raise click.UsageError("Give exactly one of --claim and --facts.")
    if facts is not None:
        return parse_hypothetical_claim(_parse_file(facts))
    assert claim_id is not None
    return claim_id


def _parse_file(file: TextIO) -> object:
    """Return the value in a file. Raises InvalidRequest."""
    try:
        return parse_yaml(file.read())
    except (InvalidDocument, UnicodeDecodeError) as error:
        raise InvalidRequest(f"{Path(file.name).name} cannot be read. {error}") from error
