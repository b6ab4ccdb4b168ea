"""`dunwell channel deliveries`: how messages fare by line and by where they go."""

from collections.abc import Iterator

import click
import msgspec

from dunwell.accounts.merchants.actor import COMMAND_LINE
from dunwell.interfaces.cli.options import data_dir_option
from dunwell.interfaces.cli.output import echo_json, render_table
from dunwell.interfaces.cli.work import run_reading
from dunwell.operations.explanation.deliveries.delivery_providers import (
    Destination,
    LinesView,
    read_lines,
)
from dunwell.operations.explanation.deliveries.figures import Delivery, Failures
from dunwell.platform.resources import Resources

_WORD = "channel"
_HEADS = ("line", "where to", "sent", "arrived", "failed", "share", "no report", "")


class DeliveryView(msgspec.Struct, frozen=True, rename="camel"):
    """What programs are answered."""

    delivery: Delivery
    reasons: list[Failures]
    is_losing: bool


@click.command("deliveries")
@data_dir_option
@click.option("--json", "is_json", is_flag=True, help="Answer as JSON.")
def deliveries(data_dir: str | None, *, is_json: bool) -> None:
    """Say by line, receiving domain and country how the messages of the last seven days fared."""

    async def read(resources: Resources) -> LinesView:
        async with resources.database.transaction() as tx:
            return await read_lines(tx, COMMAND_LINE, resources.clock.now())

    view = run_reading(data_dir, _WORD, read)
    if is_json:
        echo_json([_view(each) for each in view.destinations])
        return
    rows = [_row(each) for each in view.destinations]
    click.echo(render_table(_HEADS, rows, right=_HEADS[2:7]) if rows else "Nothing left by a line.")
    for line in _list_reasons(view):
        click.echo(line)


def _view(each: Destination) -> DeliveryView:
    return DeliveryView(each.delivery, list(each.reasons), each.is_losing)


def _row(each: Destination) -> tuple[str, ...]:
    delivery, sent = each.delivery, each.delivery.sent
    return (
        delivery.line, delivery.destination or "-", f"{sent.sent:,}", f"{sent.delivered:,}",
        f"{sent.failed:,}", f"{sent.failed * 100 / sent.sent:.1f} %", f"{sent.silent:,}",
        "too many" if each.is_losing else "",
    )  # fmt: skip


def _list_reasons(view: LinesView) -> Iterator[str]:
    failed = [reason for each in view.destinations for reason in each.reasons]
    if failed:
        yield "\nWhy"
    for each in failed:
        about_us = " (we are refused)" if each.cause == "ABOUT_US" else ""
        place = f"{each.line} {each.destination or '-'}"
        yield f"  {place}: {each.messages:,} x {each.reason}{about_us}"
