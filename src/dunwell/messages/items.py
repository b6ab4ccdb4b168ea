"""The claim's items as a block: a table in HTML, aligned lines in plain text. Pure."""

from dunwell.messages.facts import ItemFacts
from dunwell.messages.formatting import Values, escape, render_line

# Wider descriptions push their amount to the right of the column instead of moving the column.
_MAX_WIDTH = 48


def render_items_html(values: Values) -> str:
    """Two columns, so that it fits a phone: what and when, how much."""
    wording = values.wording
    rows = "".join(
        f"<tr><td>{escape(describe_item(item, values))}{_days_html(item, values)}</td>"
        f"<td>{escape(values.money(item.value_cents))}</td></tr>"
        for item in values.facts.claim.items
    )
    sums = "".join(
        f'<tr><th scope="row">{escape(label)}</th><td>{escape(amount)}</td></tr>'
        for label, amount in list_sums(values)
    )
    return (
        f'<table class="items"><thead><tr><th scope="col">{escape(wording.item)}</th>'
        f'<th scope="col">{escape(wording.amount)}</th></tr></thead>'
        f"<tbody>{rows}</tbody><tfoot>{sums}</tfoot></table>\n"
    )


def render_items_text(values: Values) -> str:
    """A line an item and one for its days, amounts under each other, a rule, the sums."""
    claim = values.facts.claim
    items = [(describe_item(item, values), values.money(item.value_cents)) for item in claim.items]
    sums = list_sums(values)
    left = min(max(len(label) for label, _ in items + sums), _MAX_WIDTH)
    right = max(len(amount) for _, amount in items + sums)
    lines = []
    for item, (label, amount) in zip(claim.items, items, strict=True):
        lines.append(f"{label:<{left}}  {amount:>{right}}")
        lines += [f"  {days}" for days in [render_days(item, values)] if days]
    lines.append("-" * (left + 2 + right))
    lines += [f"{label:<{left}}  {amount:>{right}}" for label, amount in sums]
    return "\n".join(lines)


def describe_item(item: ItemFacts, values: Values) -> str:
    label = values.wording.item_types[item.type]
    return f"{label} {render_line(item.reference)}" if item.reference else label


def render_days(item: ItemFacts, values: Values) -> str:
    days = []
    if item.item_date:
        days.append(values.wording.dated.format(values.day(item.item_date)))
    if item.due_date:
        days.append(values.wording.due.format(values.day(item.due_date)))
    return ", ".join(days)


def _days_html(item: ItemFacts, values: Values) -> str:
    days = render_days(item, values)
    return f"<br><small>{escape(days)}</small>" if days else ""


def list_sums(values: Values) -> list[tuple[str, str]]:
    claim, wording = values.facts.claim, values.wording
    sums = [(wording.total, values.money(claim.total_cents))]
    if claim.outstanding_cents != claim.total_cents:
        sums.append((wording.outstanding, values.money(claim.outstanding_cents)))
    return sums
