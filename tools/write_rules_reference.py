"""Generate the tables in docs/operator/assignment-rules.md.

The text between `<!-- generated: name -->` and `<!-- end -->` is replaced; the rest is written by
hand. A test compares the page with the generated text.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from dunwell.cases.assignment.matching import RuleOutcome, RuleVerdict
from dunwell.cases.assignment.rule_results import describe_verdict
from dunwell.core.claims.conditions import PROPERTIES

PAGE = Path(__file__).parents[1] / "docs" / "operator" / "assignment-rules.md"
_SECTION = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def render_page(page: str) -> str:
    """Return the page with every generated section updated."""
    return _SECTION.sub(lambda found: found[1] + RENDERERS[found[2]]() + "\n" + found[3], page)


def render_properties() -> str:
    """Return the properties that conditions can test, one in each row."""
    rows = [(f"`{each.name}`", each.accepted_values, each.meaning) for each in PROPERTIES]
    return _table(("property", "test", "matches if"), rows)


def render_outcomes() -> str:
    """Return the possible outcomes of a rule, with their codes and descriptions."""
    rows = [(f"`{each}`", describe_verdict(RuleVerdict("", each))) for each in RuleOutcome]
    return _table(("outcome", "in words"), rows)


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


RENDERERS: Mapping[str, Callable[[], str]] = {
    "properties": render_properties,
    "outcomes": render_outcomes,
}


def main() -> None:
    PAGE.write_text(render_page(PAGE.read_text()))
    print(f"wrote {PAGE}")


if __name__ == "__main__":
    main()
