"""`dunwell suppression`: the suppression list of a merchant."""

from typing import Any, get_args

import click

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.configuration import CHANNELS, Channel
from dunwell.contact.messages.suppression import (
    SuppressionEntry,
    SuppressionReason,
    lift_suppression,
    list_all_suppressions,
    suppress,
)
from dunwell.interfaces.cli.options import data_dir_option
from dunwell.interfaces.cli.output import echo_json, render_table
from dunwell.interfaces.cli.work import find_merchant_by_key, run_use_case
from dunwell.platform.resources import Resources

_COMMAND = "suppression"
_CHANNELS = click.Choice(CHANNELS)


@click.group(_COMMAND, no_args_is_help=False)
def command() -> None:
    """Manage the suppression list: addresses that receive no messages."""


@command.command("list")
@data_dir_option
@click.argument("merchant")
@click.option("--json", "is_json", is_flag=True, help="Print JSON.")
def show(data_dir: str | None, merchant: str, is_json: bool) -> None:
    """List the suppressed addresses of MERCHANT (its key). Addresses are masked."""

    async def query(work: Work, _: Resources) -> list[SuppressionEntry]:
        return await list_all_suppressions(work.tx, work.merchant_id)

    entries = run_use_case(data_dir, _COMMAND, find_merchant_by_key(merchant), query)
    if is_json:
        echo_json([_build_json_view(each) for each in entries])
    elif entries:
        click.echo(_render(entries))
    else:
        click.echo("The suppression list is empty.")


@command.command("add")
@data_dir_option
@click.argument("merchant")
@click.argument("channel", type=_CHANNELS)
@click.argument("address")
@click.option(
    "--reason",
    type=click.Choice(get_args(SuppressionReason)),
    default="OPERATOR",
    show_default=True,
    help="The reason.",
)
def add(
    data_dir: str | None, merchant: str, channel: Channel, address: str, reason: SuppressionReason
) -> None:
    """Add ADDRESS in CHANNEL to the suppression list of MERCHANT (its key).

    The address of a letter is "street, postal code and city". Planned messages to the address are
    sent by the next channel of their step, if there is one.
    """

    async def change(work: Work, resources: Resources) -> bool:
        return await suppress(work, resources.keys, channel=channel, address=address, reason=reason)

    is_new = run_use_case(data_dir, _COMMAND, find_merchant_by_key(merchant), change)
    click.echo("suppressed" if is_new else "already suppressed")


@command.command("lift")
@data_dir_option
@click.argument("merchant")
@click.argument("channel", type=_CHANNELS)
@click.argument("address")
def lift(data_dir: str | None, merchant: str, channel: Channel, address: str) -> None:
    """Remove ADDRESS in CHANNEL from the suppression list of MERCHANT (its key)."""

    async def change(work: Work, resources: Resources) -> None:
        await lift_suppression(work, resources.keys, channel, address)

    run_use_case(data_dir, _COMMAND, find_merchant_by_key(merchant), change)
    click.echo("removed from the suppression list")


def _build_json_view(entry: SuppressionEntry) -> dict[str, Any]:
    return {
        "channel": entry.channel,
        "address": entry.masked_address,
        "reason": entry.reason,
        "since": entry.created_at,
        "by": _describe_actor(entry),
    }


def _render(entries: list[SuppressionEntry]) -> str:
    rows = [
        (each.channel, each.masked_address, each.reason, f"{each.created_at:%Y-%m-%d %H:%MZ}",
         _describe_actor(each))
        for each in entries
    ]  # fmt: skip
    return render_table(("channel", "address", "reason", "since", "by"), rows)


def _describe_actor(entry: SuppressionEntry) -> str:
    return " ".join(filter(None, (entry.actor_kind, entry.actor_id)))
