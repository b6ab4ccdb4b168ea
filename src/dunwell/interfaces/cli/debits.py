"""`dunwell debits`: direct debits that wait for their release, and their files for the bank."""

from pathlib import Path
from uuid import UUID

import click

from dunwell.accounts.merchants.account import Work
from dunwell.cases.direct_debit.debit_values import Collection
from dunwell.cases.direct_debit.files.release_debits import (
    confirm_debit_file,
    download_debit_file,
    list_releasable_debits,
    release_debits,
)
from dunwell.cases.direct_debit.files.store import DebitFile
from dunwell.cases.statements.formats.plain_amounts import render_plain_amount
from dunwell.interfaces.cli.options import data_dir_option
from dunwell.interfaces.cli.output import echo_json, render_table
from dunwell.interfaces.cli.work import find_merchant_by_key, run_use_case
from dunwell.platform.resources import Resources

_COMMAND = "debits"


@click.group(_COMMAND, no_args_is_help=False)
def command() -> None:
    """Release direct debits, and download their files for the bank."""


@command.command("list")
@data_dir_option
@click.argument("merchant")
@click.option("--json", "is_json", is_flag=True, help="Print JSON.")
def show(data_dir: str | None, merchant: str, *, is_json: bool) -> None:
    """List the debits of MERCHANT (its key) that wait for their release, earliest first."""

    async def query(work: Work, _: Resources) -> list[Collection]:
        return await list_releasable_debits(work)

    debits = run_use_case(data_dir, _COMMAND, find_merchant_by_key(merchant), query)
    if is_json:
        echo_json([_build_json_view(each) for each in debits])
        return
    rows = [
        (str(each.collection_id), str(each.claim_id), str(each.instalment), str(each.collected_on),
         render_plain_amount(each.amount_cents, each.currency))
        for each in debits
    ]  # fmt: skip
    click.echo(render_table(("debit", "claim", "instalment", "debited on", "amount"), rows))


@command.command("release")
@data_dir_option
@click.argument("merchant")
@click.argument("debits", type=click.UUID, nargs=-1, required=True)
def release(data_dir: str | None, merchant: str, debits: tuple[UUID, ...]) -> None:
    """Release DEBITS of MERCHANT in a new file, and print the file's id. If one of them cannot be
    released, none is."""

    async def change(work: Work, resources: Resources) -> DebitFile:
        return await release_debits(work, resources.keys, debits)

    _echo_file(run_use_case(data_dir, _COMMAND, find_merchant_by_key(merchant), change))


@command.command("confirm")
@data_dir_option
@click.argument("merchant")
@click.argument("file", type=click.UUID)
def confirm(data_dir: str | None, merchant: str, file: UUID) -> None:
    """Release FILE as the second user, if a user of the portal has proposed it."""

    async def change(work: Work, resources: Resources) -> DebitFile:
        return await confirm_debit_file(work, resources.keys, file)

    _echo_file(run_use_case(data_dir, _COMMAND, find_merchant_by_key(merchant), change))


@command.command("download")
@data_dir_option
@click.argument("merchant")
@click.argument("file", type=click.UUID)
@click.option(
    "--to", "folder", required=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The folder that the file is written to.",
)  # fmt: skip
def download(data_dir: str | None, merchant: str, file: UUID, folder: Path) -> None:
    """Write the released FILE (pain.008) to a folder, and print its path. If no bank connection has
    delivered it yet, it counts as delivered from then on, and none delivers it any more."""

    async def change(work: Work, resources: Resources) -> tuple[DebitFile, bytes] | None:
        return await download_debit_file(work, resources.keys, file)

    loaded = run_use_case(data_dir, _COMMAND, find_merchant_by_key(merchant), change)
    if loaded is None:
        raise click.ClickException(
            "The mandates of all debits in this file have ended, so it was deleted."
        )
    debit_file, content = loaded
    path = folder / debit_file.file_name
    path.write_bytes(content)
    click.echo(str(path))


def _echo_file(file: DebitFile) -> None:
    count = "1 debit" if file.debits == 1 else f"{file.debits:,} debits"
    amount = render_plain_amount(file.amount_cents, "EUR")
    click.echo(f"{file.file_id} {file.state}: {count}, {amount}")


def _build_json_view(each: Collection) -> dict[str, object]:
    return {
        "id": str(each.collection_id),
        "claimId": each.claim_id,
        "instalment": each.instalment,
        "debitedOn": str(each.collected_on),
        "amount": each.amount_cents,
        "currency": each.currency,
        "endToEndId": each.end_to_end_id,
    }
