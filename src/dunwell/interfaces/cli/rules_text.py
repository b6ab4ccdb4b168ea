"""Assignment rules, their reviews and trials: tables for people and values for programs.

The JSON names workflows by name, as merchant files do.
"""

from typing import Any

import msgspec

from dunwell.cases.assignment.read_rules import RulesView
from dunwell.cases.assignment.rules import (
    RuleDocument,
    RulesDocument,
    render_document,
    render_rule,
)
from dunwell.cases.assignment.rules_draft import Review
from dunwell.cases.assignment.targets import Rulebook
from dunwell.cases.assignment.try_claim import Possibility
from dunwell.cases.assignment.wording import describe_default, describe_verdict
from dunwell.interfaces.cli.output import render_table
from dunwell.operations.explanation.explain_claim import show_match


def render_view(view: RulesView) -> str:
    if view.published is None or view.ruling is None:
        parts = ["no rules were published yet; claims stay unassigned"]
    else:
        at = f"{view.ruling.published_at:%Y-%m-%d %H:%M} UTC"
        head = f"version {view.version}, published {at}"
        parts = [head, _render_rules(view.published)]
    if view.draft is not None and view.drafted is not None:
        head = f"draft, saved {view.drafted.saved_at:%Y-%m-%d %H:%M} UTC"
        parts += ["", head, _render_rules(view.draft)]
    return "\n".join(parts)


def show_view(view: RulesView) -> dict[str, Any]:
    return {
        "version": view.version,
        "publishedAt": None if view.ruling is None else view.ruling.published_at,
        "published": None if view.published is None else render_document(view.published),
        "savedAt": None if view.drafted is None else view.drafted.saved_at,
        "draft": None if view.draft is None else render_document(view.draft),
    }


def render_review(review: Review) -> list[str]:
    lines = [f"  {line}" for line in review.differences] or ["  nothing differs"]
    return lines + [f"  note: {line}" for line in review.remarks]


def render_possibilities(rulebook: Rulebook, found: tuple[Possibility, ...]) -> str:
    is_certain = len(found) == 1
    return "\n\n".join(_render_possibility(rulebook, each, is_certain=is_certain) for each in found)


def show_possibilities(
    rulebook: Rulebook, found: tuple[Possibility, ...]
) -> dict[str, list[dict[str, Any]]]:
    """Each as the API explains what the rules say of a claim."""
    shown = [{"percent": each.percent, "rules": show_match(rulebook, each.match)} for each in found]
    return {"possibilities": shown}


def _render_possibility(rulebook: Rulebook, found: Possibility, *, is_certain: bool) -> str:
    match, name = found.match, _name(rulebook, found)
    gets = "stays unassigned" if name is None else f'gets "{name}"'
    head = f"the claim {gets}" if is_certain else f"{found.percent} % of such claims: {gets}"
    rows = [(verdict.name, describe_verdict(verdict)) for verdict in match.verdicts]
    table = render_table(
        ("rule", "what becomes of it"), [*rows, ("default", describe_default(match))]
    )
    return f"{head}\n{table}"


def _name(rulebook: Rulebook, found: Possibility) -> str | None:
    workflow_id = found.match.workflow_id
    return None if workflow_id is None else rulebook.names[workflow_id]


def _render_rules(document: RulesDocument) -> str:
    rows = [
        (str(number), rule.name, "yes" if rule.active else "no", _render_when(rule), _target(rule))
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


def _target(rule: RuleDocument) -> str:
    if isinstance(rule.target, str):
        return rule.target
    return ", ".join(f"{share.percent} % {share.workflow}" for share in rule.target)
