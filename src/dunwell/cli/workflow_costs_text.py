"""What the messages of a preview cost, as an operator reads it. Pure."""

from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Decimal

from dunwell.cli.output import render_table
from dunwell.messages.formatting import render_money
from dunwell.rollout.costs import Costs, Spent

_HEADS = ("channel", "line", "country", "messages before", "cost before", "after", "cost after")


def render_costs(costs: Costs, currency: str) -> Iterator[str]:
    """Of the same days."""
    yield "What these messages cost by the prices of their lines, without enclosures"
    rows = [
        (
            each.channel, each.line or "-", each.country or "-",
            *_cells(each.before, currency), *_cells(each.after, currency),
        )
        for each in costs.rows
    ]  # fmt: skip
    sums = ("together", "", "", *_cells(costs.before, currency), *_cells(costs.after, currency))
    table = render_table(_HEADS, [*rows, sums], right=_HEADS[3:])
    yield from (f"  {line}".rstrip() for line in table.splitlines())
    unpriced = max(costs.before.unpriced, costs.after.unpriced)
    if unpriced:
        yield f"  Without a price: {costs.before.unpriced:,} before, {costs.after.unpriced:,} after"


def _cells(spent: Spent, currency: str) -> tuple[str, str]:
    if spent.messages and spent.messages == spent.unpriced:
        return f"{spent.messages:,}", "no price"
    return f"{spent.messages:,}" if spent.messages else "-", _money(spent.cents, currency)


def _money(cents: Decimal, currency: str) -> str:
    return render_money(int(cents.to_integral_value(ROUND_HALF_UP)), currency, "en")
