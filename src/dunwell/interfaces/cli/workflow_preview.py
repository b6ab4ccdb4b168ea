"""`dunwell workflow preview`: show what publishing a draft would do."""

import csv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from zoneinfo import ZoneInfo

import click

from dunwell.accounts.merchants.configuration import CHANNELS
from dunwell.cases.rollout.preview.costs import MessageCost, PreviewCosts
from dunwell.cases.rollout.preview.effects import (
    DEFAULT_PREVIEW_DAYS,
    MAX_PREVIEW_DAYS,
    ClaimContactChange,
    ContactChangeCallback,
    ContactChangeKind,
    NextContact,
    PreviewEffects,
    PreviewScope,
)
from dunwell.cases.rollout.preview.effects_views import (
    DayTable,
    FeeFigures,
    OutlookView,
    build_day_table,
    build_outlook_view,
    compute_fee_figures,
    count_held_back,
    describe_aspects,
)
from dunwell.cases.rollout.preview.preview_costs import (
    compute_preview_costs_with_own_printer,
    prepare_costs,
)
from dunwell.cases.rollout.preview.preview_draft import (
    DraftPreview,
    build_preview_view,
    preview_draft,
)
from dunwell.cases.rollout.publish_workflow import describe_reach
from dunwell.cases.rollout.uses import render_claim_count
from dunwell.contact.messages.guards.guards import HoldReason
from dunwell.contact.messages.templates.formatting import render_money
from dunwell.core.workflows.change_workflow import check_uses_workflows, get_workflow_by_name
from dunwell.core.workflows.versions.versions import VersionVerdict
from dunwell.interfaces.cli.options import data_dir_option
from dunwell.interfaces.cli.output import echo_json, render_table, show_progress
from dunwell.interfaces.cli.work import find_merchant_by_key, open_read_only_work, run_query
from dunwell.interfaces.cli.workflow_reading import render_differences
from dunwell.platform.resources import Resources
from dunwell.platform.text.texts import render_count

_HELD_WORDS = {
    HoldReason.GUARD_DAY.value: "by the daily limit",
    HoldReason.GUARD_WEEK.value: "by the weekly limit",
    HoldReason.QUIET_HOURS.value: "by quiet hours",
}
_KIND_WORDS = {
    ContactChangeKind.UNCHANGED: ("unchanged", ""),
    ContactChangeKind.CHANGED: ("changed", ""),
    ContactChangeKind.GONE: ("removed", "no contact any more"),
    ContactChangeKind.NEW: ("new", "no contact before"),
    ContactChangeKind.HELD: ("on hold", "not contacted until the hold is removed"),
    ContactChangeKind.UNSETTLED: (
        "unsettled",
        "the delivery status of the last message must be resolved first",
    ),
}
_COST_HEADS = (
    "channel",
    "provider",
    "country",
    "messages before",
    "cost before",
    "after",
    "cost after",
)


def render_preview(name: str, preview: DraftPreview, costs: PreviewCosts | None = None) -> str:
    plan, effects = preview.plan, preview.effects
    lines = list(_render_head(name, preview))
    if plan.before is None:
        lines += ["", "It has no active claims, so there is nothing to preview."]
    elif plan.verdict is VersionVerdict.MAJOR:
        lines += [
            "",
            "A major version affects no active claim: their contacts stay unchanged. Claims",
            "that are assigned from then on start on it; the preview does not include them.",
        ]
    elif effects.claims:
        lines += ["", *_render_next_contacts(effects, ZoneInfo(preview.timezone))]
        if effects.outlook is not None:
            lines += ["", *_render_outlook(build_outlook_view(effects.outlook), preview)]
        if costs is not None:
            lines += ["", *render_costs(costs, preview.currency)]
    return "\n".join(lines)


def _render_head(name: str, preview: DraftPreview) -> Iterator[str]:
    plan = preview.plan
    if plan.before is None:
        yield f'"{name}" would be published as {plan.after}, the first version.'
    elif plan.verdict is VersionVerdict.NONE:
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


def _render_next_contacts(effects: PreviewEffects, zone: ZoneInfo) -> Iterator[str]:
    yield "Next contacts of the affected claims"
    rows = []
    for kind, (words, meaning) in _KIND_WORDS.items():
        count = effects.counts[kind]
        remark = describe_aspects(effects) if kind is ContactChangeKind.CHANGED else meaning
        if count or kind in (ContactChangeKind.UNCHANGED, ContactChangeKind.CHANGED):
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
    different = (
        effects.counts[ContactChangeKind.CHANGED]
        + effects.counts[ContactChangeKind.GONE]
        + effects.counts[ContactChangeKind.NEW]
    )
    if different > len(listed):
        yield f"  ... and {different - len(listed):,} more; --list FILE.csv writes all."


def _render_contact(contact: NextContact | None, zone: ZoneInfo) -> str:
    if contact is None:
        return "-"
    at = contact.at.astimezone(zone).strftime("%a %Y-%m-%d %H:%M")
    return f"{at} {contact.channel} {contact.step_id} {contact.name}"


def _render_outlook(outlook: OutlookView, preview: DraftPreview) -> Iterator[str]:
    days = "day" if preview.days == 1 else f"{preview.days} days"
    yield (
        f"The next {days} ({preview.timezone}) of {render_claim_count(outlook.claims)}, "
        "if each message is accepted at once and no debtor pays"
    )
    yield from _indent(_render_days(build_day_table(outlook, preview.days)))
    yield ""
    yield from (f"  {line}" for line in _render_sums(outlook, preview.currency))


def _render_days(table: DayTable) -> str:
    rows = [
        (row.first.strftime("%a %Y-%m-%d"), *_render_counts([*row.contacts, row.held_back]))
        for row in table.rows
    ]
    heads = ("week from" if table.is_by_week else "day", *CHANNELS, "held back")
    sums = ("total", *_render_counts([*table.contacts, table.held_back]))
    return render_table(heads, [*rows, sums], right=heads[1:])


def _render_counts(row: Sequence[int]) -> list[str]:
    return [f"{count:,}" if count else "-" for count in row]


def _render_sums(outlook: OutlookView, currency: str) -> Iterator[str]:
    held = count_held_back(outlook)
    reasons = [f"{held[by]:,} {words}" for by, words in _HELD_WORDS.items() if held.get(by)]
    yield f"Held back, and sent later: {', '.join(reasons) or 'none'}"
    yield from _render_fees(compute_fee_figures(outlook), currency)
    examples = ", ".join(outlook.unreachable_examples)
    more = " ..." if outlook.unreachable > len(outlook.unreachable_examples) else ""
    unreachable = render_claim_count(outlook.unreachable)
    yield f"No usable address: {unreachable}{f' ({examples}{more})' if examples else ''}"
    yield f"Contacts without a usable address: {outlook.missed_contacts:,}"
    yield f"Archived without collection: {render_claim_count(outlook.archived)}"


def _render_fees(fees: FeeFigures, currency: str) -> Iterator[str]:
    debtors = render_count(fees.debtors, "debtor")
    yield f"Fees: {fees.fees:,} for {debtors}, {_money(fees.cents, currency)} in total"
    for each in fees.sums:
        yield f"  {_money(each.cents, currency)} for {render_count(each.debtors, 'debtor')}"
    if fees.more_debtors:
        yield f"  more than that for {render_count(fees.more_debtors, 'debtor')}"
    if fees.highest is not None:
        yield (
            f"  highest: {_money(fees.highest.cents, currency)}, "
            f"{render_count(fees.highest.fees, 'fee')} on "
            f"{render_claim_count(fees.highest.claims)} (one is {fees.highest.reference_number})"
        )


def _money(cents: int, currency: str) -> str:
    return render_money(cents, currency, "en")


def _indent(text: str) -> list[str]:
    return [f"  {line}".rstrip() for line in text.splitlines()]


def render_costs(costs: PreviewCosts, currency: str) -> Iterator[str]:
    """Render the costs of the previewed days."""
    yield "The costs of these messages by the prices of their providers, without enclosures"
    rows = [
        (
            each.channel, each.provider or "-", each.country or "-",
            *_render_cost_cells(each.before, currency), *_render_cost_cells(each.after, currency),
        )
        for each in costs.rows
    ]  # fmt: skip
    sums = (
        "total",
        "",
        "",
        *_render_cost_cells(costs.before, currency),
        *_render_cost_cells(costs.after, currency),
    )
    table = render_table(_COST_HEADS, [*rows, sums], right=_COST_HEADS[3:])
    yield from (f"  {line}".rstrip() for line in table.splitlines())
    unpriced = max(costs.before.unpriced, costs.after.unpriced)
    if unpriced:
        yield f"  Without a price: {costs.before.unpriced:,} before, {costs.after.unpriced:,} after"


def _render_cost_cells(cost: MessageCost, currency: str) -> tuple[str, str]:
    if cost.has_no_price:
        return f"{cost.messages:,}", "no price"
    messages = f"{cost.messages:,}" if cost.messages else "-"
    return messages, _money(cost.whole_cents, currency)


_MAX_LISTED = 10
_CONTACT_HEADS = ("at", "channel", "step", "stepName")
_HEADS = (
    "claimId", "referenceNumber", "kind", "aspects",
    *(f"before.{head}" for head in _CONTACT_HEADS), *(f"after.{head}" for head in _CONTACT_HEADS),
)  # fmt: skip


@click.command("preview")
@data_dir_option
@click.argument("merchant")
@click.argument("name")
@click.option(
    "--days", type=click.IntRange(0, MAX_PREVIEW_DAYS), default=DEFAULT_PREVIEW_DAYS,
    show_default=True,
    help="The number of days to preview; 0 shows only the next contacts.",
)  # fmt: skip
@click.option(
    "--list", "list_to", type=click.Path(dir_okay=False, path_type=Path),
    help="Write all affected claims to this file as CSV.",
)  # fmt: skip
@click.option("--json", "is_json", is_flag=True, help="Print JSON.")
def command(
    data_dir: str | None, merchant: str, name: str, days: int, list_to: Path | None, *,
    is_json: bool,
) -> None:  # fmt: skip
    """Show what publishing the draft of workflow NAME would do to its active claims.

    Nothing is changed. The preview assumes that each message is accepted at once and no debtor
    pays.
    """

    async def query(resources: Resources) -> tuple[DraftPreview, PreviewCosts | None]:
        async with open_read_only_work(resources, find_merchant_by_key(merchant)) as work:
            check_uses_workflows(work.merchant)
            workflow = await get_workflow_by_name(work.tx, work.merchant_id, name)
            scope = PreviewScope(days, _MAX_LISTED, progress, sink, costs=True)
            preview = await preview_draft(work, resources.keys, workflow.workflow_id, scope)
            prepared = await prepare_costs(work, resources, preview)
        if prepared is None:
            return preview, None
        return preview, await compute_preview_costs_with_own_printer(
            prepared, resources.settings.fonts
        )

    with _open_list(list_to) as sink, show_progress() as progress:
        preview, costs = run_query(data_dir, "workflow", query)
    if is_json:
        echo_json(build_preview_view(name, preview, costs))
    else:
        click.echo(render_preview(name, preview, costs))
    if list_to is not None:
        click.echo(
            f"{render_count(preview.effects.claims, 'claim')} written to {list_to}", err=True
        )


@contextmanager
def _open_list(path: Path | None) -> Iterator[ContactChangeCallback | None]:
    if path is None:
        yield None
        return
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(_HEADS)

        def write(claim: ClaimContactChange) -> None:
            writer.writerow(
                [
                    claim.claim_id, claim.reference_number, claim.kind.value,
                    " ".join(claim.aspects), *_render_contact_cells(claim.before),
                    *_render_contact_cells(claim.after),
                ]
            )  # fmt: skip

        yield write


def _render_contact_cells(contact: NextContact | None) -> list[str | int]:
    if contact is None:
        return [""] * len(_CONTACT_HEADS)
    at = contact.at.strftime("%Y-%m-%dT%H:%M:%SZ")
    return [at, contact.channel, contact.step_id, contact.name]
