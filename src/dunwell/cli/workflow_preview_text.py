"""A preview as an operator reads it: verdict, reach, next contacts, the days ahead, costs."""

from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal
from zoneinfo import ZoneInfo

from dunwell.cli.output import render_table
from dunwell.cli.workflow_reading import render_differences
from dunwell.kit.texts import say_count
from dunwell.messages.formatting import render_money
from dunwell.messages.guards import HeldBy
from dunwell.rollout.costs import Costs, Spent
from dunwell.rollout.effects import Effects
from dunwell.rollout.effects_views import describe_aspects
from dunwell.rollout.next_contacts import Kind, NextContact
from dunwell.rollout.outlook import Outlook
from dunwell.rollout.plan_publication import describe_reach
from dunwell.rollout.preview_draft import Preview
from dunwell.rollout.uses import describe_count
from dunwell.workflows.versions import Verdict

_CHANNELS = ("EMAIL", "SMS", "LETTER")
# A longer window is told by weeks.
_MOST_DAYS_SHOWN = 42
_MOST_SUMS_SHOWN = 8
_HELD_WORDS = {
    HeldBy.GUARD_DAY: "by the limit for a day",
    HeldBy.GUARD_WEEK: "by the limit for a week",
    HeldBy.QUIET_HOURS: "by quiet hours",
}
_KIND_WORDS = {
    Kind.UNCHANGED: ("unchanged", ""),
    Kind.CHANGED: ("changed", ""),
    Kind.GONE: ("gone", "no contact any more"),
    Kind.NEW: ("new", "no contact before"),
    Kind.HELD: ("held", "without end: not contacted until the hold is lifted"),
    Kind.UNSETTLED: ("unsettled", "a person has to say first whether the last contact was made"),
}
_HEADS = ("channel", "line", "country", "messages before", "cost before", "after", "cost after")


def render_preview(name: str, preview: Preview, costs: Costs | None = None) -> str:
    plan, effects = preview.plan, preview.effects
    lines = list(_render_head(name, preview))
    if plan.before is None:
        lines += ["", "No claim runs on it yet; there is nothing to play forward."]
    elif plan.verdict is Verdict.MAJOR:
        lines += [
            "",
            "A major version reaches no running claim: their contacts stay as they are. Claims",
            "assigned from now on would start on it; those are not played forward.",
        ]
    elif effects.claims:
        lines += ["", *_render_next_contacts(effects, ZoneInfo(preview.timezone))]
        if effects.outlook is not None:
            lines += ["", *_render_outlook(effects.outlook, preview)]
        if costs is not None:
            lines += ["", *render_costs(costs, preview.currency)]
    return "\n".join(lines)


def _render_head(name: str, preview: Preview) -> Iterator[str]:
    plan = preview.plan
    if plan.before is None:
        yield f'"{name}" would be published as {plan.after}, the first version.'
    elif plan.verdict is Verdict.NONE:
        yield f'"{name}": the draft does not differ from {plan.before}.'
    else:
        verdict = plan.verdict.lower()
        yield f'"{name}" would be published as {plan.after} ({verdict}) after {plan.before}'
        for line in render_differences(plan.differences, plan.text_changes):
            yield f"  {line}"
        yield f"{describe_reach(plan)}."
    if plan.faults:
        yield "It cannot be published yet:"
        yield from (f"  {fault.path or '/'}: {fault.message}" for fault in plan.faults)


def _render_next_contacts(effects: Effects, zone: ZoneInfo) -> Iterator[str]:
    yield "Next contacts of the claims it reaches"
    rows = []
    for kind, (words, meaning) in _KIND_WORDS.items():
        count = effects.counts[kind]
        remark = describe_aspects(effects) if kind is Kind.CHANGED else meaning
        if count or kind in (Kind.UNCHANGED, Kind.CHANGED):
            rows.append((words, f"{count:,}", remark if count else ""))
    yield from _indent(render_table(("", "claims", ""), rows, right={"claims"}))
    if not effects.listed:
        return
    yield ""
    listed = [
        (
            str(each.claim_id), each.reference_number, _KIND_WORDS[each.kind][0],
            _render_contact(each.before, zone), _render_contact(each.after, zone),
        )
        for each in effects.listed
    ]  # fmt: skip
    yield from _indent(
        render_table(("claim", "reference", "", "before", "after"), listed, right={"claim"})
    )
    different = effects.counts[Kind.CHANGED] + effects.counts[Kind.GONE] + effects.counts[Kind.NEW]
    if different > len(listed):
        yield f"  ... and {different - len(listed):,} more; --list FILE.csv writes all."


def _render_contact(contact: NextContact | None, zone: ZoneInfo) -> str:
    if contact is None:
        return "-"
    at = contact.at.astimezone(zone).strftime("%a %Y-%m-%d %H:%M")
    return f"{at} {contact.channel} {contact.step_id} {contact.name}"


def _render_outlook(outlook: Outlook, preview: Preview) -> Iterator[str]:
    days = "day" if preview.days == 1 else f"{preview.days} days"
    yield (
        f"The next {days} ({preview.timezone}) of {describe_count(outlook.claims)}, if each message"
        " is accepted at once and nobody pays"
    )
    yield from _indent(_render_days(outlook, by_week=preview.days > _MOST_DAYS_SHOWN))
    yield ""
    yield from (f"  {line}" for line in _render_sums(outlook, preview.currency))


def _render_days(outlook: Outlook, *, by_week: bool) -> str:
    rows: dict[date, list[int]] = {}
    for (day, what), count in [*outlook.contacts.items(), *outlook.held_back.items()]:
        first = day - timedelta(days=day.weekday()) if by_week else day
        row = rows.setdefault(first, [0] * (len(_CHANNELS) + 1))
        row[_CHANNELS.index(what) if what in _CHANNELS else len(_CHANNELS)] += count
    table = [(day.strftime("%a %Y-%m-%d"), *_numbers(row)) for day, row in sorted(rows.items())]
    sums = [sum(column) for column in zip(*rows.values(), strict=True)] or [0] * 4
    heads = ("week from" if by_week else "day", *_CHANNELS, "held back")
    return render_table(heads, [*table, ("together", *_numbers(sums))], right=heads[1:])


def _numbers(row: Sequence[int]) -> list[str]:
    return [f"{count:,}" if count else "-" for count in row]


def _render_sums(outlook: Outlook, currency: str) -> Iterator[str]:
    held = {by: sum(n for (_, b), n in outlook.held_back.items() if b is by) for by in _HELD_WORDS}
    told = [f"{count:,} {_HELD_WORDS[by]}" for by, count in held.items() if count]
    yield f"Held back, and sent later: {', '.join(told) or 'none'}"
    yield from _render_fees(outlook, currency)
    examples = ", ".join(outlook.unreachable_examples)
    more = " ..." if outlook.unreachable > len(outlook.unreachable_examples) else ""
    unreachable = describe_count(outlook.unreachable)
    yield f"Nobody can be reached: {unreachable}{f' ({examples}{more})' if examples else ''}"
    yield f"Contacts that find no usable address: {outlook.missed_contacts:,}"
    yield f"Archived uncollected: {describe_count(outlook.archived)}"


def _render_fees(outlook: Outlook, currency: str) -> Iterator[str]:
    total = sum(cents * debtors for cents, debtors in outlook.fee_sums.items())
    debtors = sum(outlook.fee_sums.values())
    told = say_count(debtors, "debtor")
    yield f"Fees: {outlook.fees:,} for {told}, {_money(total, currency)} together"
    sums = sorted(outlook.fee_sums.items())
    for cents, count in sums[:_MOST_SUMS_SHOWN]:
        yield f"  {_money(cents, currency)} for {say_count(count, 'debtor')}"
    if len(sums) > _MOST_SUMS_SHOWN:
        rest = sum(count for _, count in sums[_MOST_SUMS_SHOWN:])
        yield f"  more than that for {say_count(rest, 'debtor')}"
    for highest in sorted(outlook.highest_fees, reverse=True)[:1]:
        yield (
            f"  the most: {_money(highest.cents, currency)}, {say_count(highest.fees, 'fee')} on "
            f"{describe_count(highest.claims)} (one is {highest.reference_number})"
        )


def _money(cents: int, currency: str) -> str:
    return render_money(cents, currency, "en")


def _indent(text: str) -> list[str]:
    return [f"  {line}".rstrip() for line in text.splitlines()]


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
    return f"{spent.messages:,}" if spent.messages else "-", _render_cost(spent.cents, currency)


def _render_cost(cents: Decimal, currency: str) -> str:
    return render_money(int(cents.to_integral_value(ROUND_HALF_UP)), currency, "en")
