"""The claim's items as a block: a table in HTML, aligned lines in plain text. Pure."""

from dunwell.contact.messages.facts import ItemFacts
from dunwell.contact.messages.formatting import Values, escape, label_item
from dunwell.contact.messages.mail_style import BOX_LABEL, HOW_MUCH, TABLE, WHAT

# Wider descriptions push their amount to the right of the column instead of moving the column.
_MAX_WIDTH = 48


def render_items_html(values: Values) -> str:
    """Two columns, so that it fits a phone: what and when, how much."""
    translate = values.words.translate
    rows = "".join(
        f'<tr><td style="{WHAT}">{escape(describe_item(item, values))}{_explain_html(item, values)}'
        f'</td><td style="{HOW_MUCH}">{escape(values.money(item.value_cents))}</td></tr>'
        for item in values.facts.claim.items
    )
    sums = "".join(
        f'<tr><th scope="row" style="{WHAT}">{escape(label)}</th>'
        f'<td style="{HOW_MUCH};font-weight:bold">{escape(amount)}</td></tr>'
        for label, amount in list_sums(values)
    )
    return (
        f'<table class="items" style="{TABLE}"><thead>'
        f'<tr><th scope="col" style="{WHAT}">{escape(translate("Item"))}</th>'
        f'<th scope="col" style="{HOW_MUCH}">{escape(translate("Amount"))}</th></tr></thead>'
        f"<tbody>{rows}</tbody><tfoot>{sums}</tfoot></table>\n"
    )


def render_items_text(values: Values) -> str:
    """A line an item and one for why and when, amounts under each other, a rule, the sums."""
    claim = values.facts.claim
    items = [(describe_item(item, values), values.money(item.value_cents)) for item in claim.items]
    sums = list_sums(values)
    left = min(max(len(label) for label, _ in items + sums), _MAX_WIDTH)
    right = max(len(amount) for _, amount in items + sums)
    lines = []
    for item, (label, amount) in zip(claim.items, items, strict=True):
        lines.append(f"{label:<{left}}  {amount:>{right}}")
        lines += [f"  {said}" for said in [explain_item(item, values)] if said]
    lines.append("-" * (left + 2 + right))
    lines += [f"{label:<{left}}  {amount:>{right}}" for label, amount in sums]
    return "\n".join(lines)


def describe_item(item: ItemFacts, values: Values) -> str:
    return label_item(item, values.words)


def explain_item(item: ItemFacts, values: Values) -> str:
    """Why and since when it is owed, in the pages' words."""
    translate, said = values.words.translate, []
    if item.type == "COLLECTION_FEE":
        said.append(
            translate("For collecting the amount, because it was not paid when it was due.")
        )
    if item.type == "DUNNING_FEE":
        said.append(
            translate("For reminding you, because the amount was not paid when it was due.")
        )
    if item.item_date:
        said.append(translate("Dated %(day)s.", day=values.day(item.item_date)))
    if item.due_date:
        said.append(translate("Due on %(day)s.", day=values.day(item.due_date)))
    return " ".join(said)


def _explain_html(item: ItemFacts, values: Values) -> str:
    said = explain_item(item, values)
    return f'<br><small class="quiet" style="{BOX_LABEL}">{escape(said)}</small>' if said else ""


def list_sums(values: Values) -> list[tuple[str, str]]:
    claim, translate = values.facts.claim, values.words.translate
    sums = [(translate("Total"), values.money(claim.total_cents))]
    if claim.outstanding_cents != claim.total_cents:
        sums.append((translate("Still to pay"), values.money(claim.outstanding_cents)))
    return sums
