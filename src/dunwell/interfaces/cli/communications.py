"""`dunwell communications`: show communications, and resolve those whose delivery status is
unknown."""

from datetime import datetime
from uuid import UUID

import click
import msgspec

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.accounts.merchants.store import load_merchant, load_merchants_page
from dunwell.contact.escalation.contacts.outcomes.record_outcomes import resolve_unknown_contact
from dunwell.contact.messages.communications.unknown_contacts import (
    BEFORE_ALL_IDS,
    ContactView,
    get_contact,
    list_unknown_contacts,
)
from dunwell.interfaces.cli.options import data_dir_option
from dunwell.interfaces.cli.output import echo_json, render_table
from dunwell.interfaces.cli.work import find_merchant_by_key, run_query, run_use_case
from dunwell.platform.database.database import Connection
from dunwell.platform.resources import Resources

_COMMAND = "communications"
_ROWS_AT_ONCE = 500

# The key of a merchant, and one of its communications.
KeyedContact = tuple[str, ContactView]


@click.group(_COMMAND, no_args_is_help=False)
def command() -> None:
    """Show communications, and resolve those whose delivery status is unknown."""


@command.command("unknown")
@data_dir_option
@click.argument("merchant", required=False)
@click.option("--json", "is_json", is_flag=True, help="Print JSON.")
def unknown(data_dir: str | None, merchant: str | None, is_json: bool) -> None:
    """List the communications of MERCHANT (its key), or of all merchants, whose delivery status is
    unknown."""

    async def query(resources: Resources) -> list[KeyedContact]:
        async with resources.database.connection() as tx:
            return await _list_unknown(tx, merchant)

    contacts = run_query(data_dir, _COMMAND, query)
    if is_json:
        echo_json([_build_json_view(key, view) for key, view in contacts])
    elif contacts:
        click.echo(_render(contacts))
    else:
        click.echo("There are no communications with unknown delivery status.")


@command.command("show")
@data_dir_option
@click.argument("merchant")
@click.argument("reference", type=click.UUID)
@click.option("--json", "is_json", is_flag=True, help="Print JSON.")
def show(data_dir: str | None, merchant: str, reference: UUID, is_json: bool) -> None:
    """Show the communication REFERENCE of MERCHANT (its key)."""

    async def query(work: Work, _: Resources) -> ContactView:
        return await get_contact(work.tx, work.merchant_id, reference)

    values = _build_json_view(
        merchant, run_use_case(data_dir, _COMMAND, find_merchant_by_key(merchant), query)
    )
    if is_json:
        echo_json(values)
        return
    for name, value in values.items():
        click.echo(f"{name:<16}  {'-' if value is None else value}")


@command.command("settle")
@data_dir_option
@click.argument("merchant")
@click.argument("reference", type=click.UUID)
@click.argument("outcome", type=click.Choice(["sent", "not-sent"]))
def resolve(data_dir: str | None, merchant: str, reference: UUID, outcome: str) -> None:
    """Record whether the communication REFERENCE of MERCHANT was sent. This cannot be undone.

    If it was sent, its claim continues. If it was not sent, it is sent again, unless its claim has
    ended meanwhile.
    """

    async def change(work: Work, _: Resources) -> str:
        return await resolve_unknown_contact(work, reference, was_sent=outcome == "sent")

    state = run_use_case(data_dir, _COMMAND, find_merchant_by_key(merchant), change)
    words = {
        "ACCEPTED": "it was sent; its claim continues",
        "PLANNED": "it was not sent; it will be sent again",
        "CANCELLED": "it was not sent; its claim no longer needs it",
    }
    click.echo(f"{reference}  {state}: {words[state]}")


async def _list_unknown(tx: Connection, key: str | None) -> list[KeyedContact]:
    if key is not None:
        merchant = await load_merchant(tx, await find_merchant_by_key(key)(tx))
        assert merchant is not None, "its id was found in this transaction"
        return await _list_unknown_of_merchant(tx, merchant)
    contacts: list[KeyedContact] = []
    after = 0
    while page := await load_merchants_page(tx, after, _ROWS_AT_ONCE):
        after = page[-1].merchant_id
        for merchant in page:
            contacts += await _list_unknown_of_merchant(tx, merchant)
    return contacts


async def _list_unknown_of_merchant(tx: Connection, merchant: Merchant) -> list[KeyedContact]:
    contacts: list[KeyedContact] = []
    after = BEFORE_ALL_IDS
    while page := await list_unknown_contacts(tx, merchant.merchant_id, after, _ROWS_AT_ONCE):
        after = page[-1].communication_id
        contacts += [(merchant.key, view) for view in page]
    return contacts


def _render(contacts: list[KeyedContact]) -> str:
    heads = ("MERCHANT", "REFERENCE", "CLAIM", "STEP", "CHANNEL", "HANDED OVER", "RECIPIENT")
    rows = [
        (
            key,
            str(view.communication_id),
            f"{view.claim_id} ({view.reference_number})",
            str(view.step_id),
            view.channel,
            _render_at(view.handed_over_at),
            view.masked_recipient or "-",
        )
        for key, view in contacts
    ]
    return render_table(heads, rows, right=("STEP",))


def _build_json_view(key: str, view: ContactView) -> dict[str, object]:
    """Use the API's names, also in the output for people."""
    values: dict[str, object] = {
        "merchant": key,
        "reference": view.communication_id,
        "claimId": view.claim_id,
        "referenceNumber": view.reference_number,
        "run": view.run,
        "stepId": view.step_id,
        "channel": view.channel,
        "recipient": view.masked_recipient,
        "state": view.state,
        "attempts": view.attempts,
        "plannedAt": view.planned_at,
        "handedOverAt": view.handed_over_at,
        "settledAt": view.settled_at,
        "failure": view.failure,
        "heldBy": view.held_by,
    }
    plain: dict[str, object] = msgspec.to_builtins(values)
    return plain


def _render_at(instant: datetime | None) -> str:
    return "-" if instant is None else instant.strftime("%Y-%m-%d %H:%M UTC")
