"""`dunwell statements`: bank accounts, and the import of their statements."""

import asyncio
from pathlib import Path
from typing import Any
from uuid import UUID

import click
import msgspec

from dunwell.accounts.merchants.account import Work
from dunwell.cases.statements.bank_accounts import (
    close_bank_account,
    list_bank_accounts,
    reopen_bank_account,
    save_bank_account,
)
from dunwell.cases.statements.formats.csv_mapping import CsvMapping
from dunwell.cases.statements.formats.plain_amounts import render_plain_amount
from dunwell.cases.statements.formats.problems import list_holding_problems
from dunwell.cases.statements.import_statements import (
    cancel_import,
    get_file,
    import_next_file,
    list_held_statements,
    list_imported_files,
    release_statement,
    submit_file,
)
from dunwell.cases.statements.imported_file import ENDED, ImportedFile
from dunwell.cases.statements.matches.assign_transactions import (
    OpenTransaction,
    list_open_transactions,
    undo_match,
)
from dunwell.cases.statements.store import StatementAccount
from dunwell.interfaces.cli.options import data_dir_option
from dunwell.interfaces.cli.output import echo_json, render_table
from dunwell.interfaces.cli.work import (
    find_merchant_by_key,
    open_work,
    run_query,
    run_use_case,
)
from dunwell.platform.errors import Fault, ValidationError
from dunwell.platform.resources import Resources

_COMMAND = "statements"
_POLL_SECONDS = 0.5


@click.group(_COMMAND, no_args_is_help=False)
def command() -> None:
    """Import bank statements and match them with claims."""


@command.command("account")
@data_dir_option
@click.argument("merchant")
@click.argument("account")
@click.option("--iban", required=True, help="The account's IBAN.")
@click.option("--holder", required=True, help="The account holder, exactly as the bank has it.")
@click.option(
    "--csv-mapping",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A JSON file that describes the format of the account's CSV files.",
)
@click.option(
    "--max-age", type=int, help="Do not dun while the newest statement is older (banking days)."
)
@click.option("--tolerance", type=int, default=0, help="Cents by which an amount may differ.")
@click.option("--connection", help="The bank connection from which statements are fetched.")
@click.option("--folder", default="", help="The folder with statements at that connection.")
def save(data_dir: str | None, merchant: str, account: str, **options: Any) -> None:
    """Create or replace the bank ACCOUNT of MERCHANT (its key). A new mapping replaces the old."""

    async def change(work: Work, _: Resources) -> StatementAccount:
        known = {each.account: each for each in await list_bank_accounts(work)}
        path = options["csv_mapping"]
        mapping = known[account].csv_mapping if account in known else None
        return await save_bank_account(
            work,
            StatementAccount(
                account,
                options["iban"],
                options["holder"],
                mapping if path is None else _read_mapping(path),
                max_age_banking_days=options["max_age"],
                tolerance_cents=options["tolerance"],
                connection=options["connection"],
                folder=options["folder"],
            ),
        )

    run_use_case(data_dir, _COMMAND, find_merchant_by_key(merchant), change)
    click.echo("saved")


def _read_mapping(path: Path) -> CsvMapping:
    try:
        return msgspec.json.decode(path.read_bytes(), type=CsvMapping)
    except msgspec.DecodeError as error:
        raise ValidationError([Fault("/csvMapping", str(error), "WRONG_FORMAT")]) from None


@command.command("close")
@data_dir_option
@click.argument("merchant")
@click.argument("account")
def close(data_dir: str | None, merchant: str, account: str) -> None:
    """Close the bank ACCOUNT: nothing is imported or collected through it any more."""

    async def change(work: Work, _: Resources) -> StatementAccount:
        return await close_bank_account(work, account)

    run_use_case(data_dir, _COMMAND, find_merchant_by_key(merchant), change)
    click.echo("closed")


@command.command("reopen")
@data_dir_option
@click.argument("merchant")
@click.argument("account")
def reopen(data_dir: str | None, merchant: str, account: str) -> None:
    """Reopen the closed bank ACCOUNT."""

    async def change(work: Work, _: Resources) -> StatementAccount:
        return await reopen_bank_account(work, account)

    run_use_case(data_dir, _COMMAND, find_merchant_by_key(merchant), change)
    click.echo("reopened")


@command.command("accounts")
@data_dir_option
@click.argument("merchant")
def accounts(data_dir: str | None, merchant: str) -> None:
    """List the bank accounts of MERCHANT, with the day up to which the bank has reported, and the
    statements that are held."""

    async def query(work: Work, _: Resources) -> tuple[list[StatementAccount], list[Any]]:
        bank_accounts = await list_bank_accounts(work)
        held = [
            statement
            for each in bank_accounts
            for statement in await list_held_statements(work, each.account)
        ]
        return bank_accounts, held

    bank_accounts, held = run_use_case(data_dir, _COMMAND, find_merchant_by_key(merchant), query)
    rows = [
        (each.account, each.iban, each.holder, str(each.reported_until or "no statement yet"),
         "open" if each.closed_at is None else "closed")
        for each in bank_accounts
    ]  # fmt: skip
    click.echo(render_table(("account", "iban", "holder", "reported until", "state"), rows))
    for each in held:
        number = each["statement_hash"].hex()[:16]
        reason = " ".join(list_holding_problems(each["problems"])) or each["held_reason"]
        click.echo(f"held: {each['statement_id']} ({number}): {reason}")


@command.command("import")
@data_dir_option
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--merchant", required=True, help="The merchant's key.")
@click.option("--account", required=True, help="The bank account, whose CSV mapping applies.")
@click.option("--json", "is_json", is_flag=True, help="Print JSON.")
def import_file(
    data_dir: str | None, file: Path, merchant: str, account: str, *, is_json: bool
) -> None:
    """Import FILE. Importing it again duplicates nothing."""
    content = file.read_bytes()

    async def run(resources: Resources) -> ImportedFile:
        find = find_merchant_by_key(merchant)
        async with open_work(resources, find) as work:
            submitted = await submit_file(work, resources.keys, account, file.name, content=content)
        while True:
            count = await import_next_file(resources)
            async with open_work(resources, find) as work:
                imported = await get_file(work, submitted.file_id)
            if imported.state in ENDED:
                return imported
            if not count:
                await asyncio.sleep(_POLL_SECONDS)

    imported = run_query(data_dir, _COMMAND, run)
    if is_json:
        echo_json(_build_json_view(imported))
    else:
        click.echo(
            f"{imported.state}: {imported.read_count:,} entries, {imported.new_count:,} new, "
            f"{imported.matched_count:,} matched"
        )
    for each in imported.problems:
        click.echo(each, err=True)


@command.command("list")
@data_dir_option
@click.argument("merchant")
@click.option("--json", "is_json", is_flag=True, help="Print JSON.")
def show(data_dir: str | None, merchant: str, *, is_json: bool) -> None:
    """List the files of MERCHANT that were imported last."""

    async def query(work: Work, _: Resources) -> list[ImportedFile]:
        return await list_imported_files(work)

    files = run_use_case(data_dir, _COMMAND, find_merchant_by_key(merchant), query)
    if is_json:
        echo_json([_build_json_view(each) for each in files])
        return
    rows = [
        (str(each.file_id), each.name, each.account, each.state,
         f"{each.read_count:,}/{each.entry_count:,}", f"{each.new_count:,}",
         f"{each.matched_count:,}")
        for each in files
    ]  # fmt: skip
    heads = ("file", "name", "account", "state", "read", "new", "matched")
    click.echo(render_table(heads, rows))


@command.command("open")
@data_dir_option
@click.argument("merchant")
@click.argument("account")
def show_open(data_dir: str | None, merchant: str, account: str) -> None:
    """List the payments of ACCOUNT that a user must assign, with suggestions."""

    async def query(work: Work, _: Resources) -> list[OpenTransaction]:
        return await list_open_transactions(work, account)

    for each in run_use_case(data_dir, _COMMAND, find_merchant_by_key(merchant), query):
        transaction = each.transaction
        amount = render_plain_amount(transaction.amount_cents, transaction.currency)
        text = " ".join(transaction.remittance_text.split())
        click.echo(
            f"{transaction.entry_id} {transaction.number}  {transaction.booked_on}  {amount}"
        )
        click.echo(f"    {transaction.counterparty_name or '?'}: {text}")
        if transaction.resembles_on is not None:
            click.echo(f"    may be the same as the entry of {transaction.resembles_on}")
        if transaction.problem is not None:
            click.echo(f"    {transaction.problem}")
        for suggestion in each.suggestions:
            claims = ", ".join(str(part.claim_id) for part in suggestion.parts)
            click.echo(f"    claim {claims}: {suggestion.explanation}")


@command.command("undo")
@data_dir_option
@click.argument("merchant")
@click.argument("match", type=click.UUID)
@click.option("--reason", help="Why the match was wrong.")
def undo(data_dir: str | None, merchant: str, match: UUID, reason: str | None) -> None:
    """Undo MATCH, which is the transaction id of the payment. The payment is reversed."""

    async def change(work: Work, _: Resources) -> None:
        await undo_match(work, match, reason)

    run_use_case(data_dir, _COMMAND, find_merchant_by_key(merchant), change)
    click.echo("undone")


@command.command("release")
@data_dir_option
@click.argument("merchant")
@click.argument("account")
@click.argument("statement")
def release(data_dir: str | None, merchant: str, account: str, statement: str) -> None:
    """Release a held STATEMENT for booking; `accounts` shows its number in brackets."""

    async def change(work: Work, _: Resources) -> None:
        hashes = [each["statement_hash"] for each in await list_held_statements(work, account)]
        matching = [each for each in hashes if each.hex().startswith(statement)]
        if not statement or not matching:
            raise click.BadParameter("There is no such statement that is held.")
        if len(matching) > 1:
            raise click.BadParameter("Several held statements begin like this. Give more digits.")
        await release_statement(work, account, matching[0])

    run_use_case(data_dir, _COMMAND, find_merchant_by_key(merchant), change)
    click.echo("released")


@command.command("cancel")
@data_dir_option
@click.argument("merchant")
@click.argument("file", type=click.UUID)
def cancel(data_dir: str | None, merchant: str, file: UUID) -> None:
    """Cancel the import of FILE. What is imported already stays."""

    async def change(work: Work, _: Resources) -> None:
        await cancel_import(work, file)

    run_use_case(data_dir, _COMMAND, find_merchant_by_key(merchant), change)
    click.echo("cancelled")


def _build_json_view(file: ImportedFile) -> dict[str, Any]:
    return {
        "id": str(file.file_id),
        "name": file.name,
        "account": file.account,
        "state": file.state,
        "entries": file.entry_count,
        "read": file.read_count,
        "new": file.new_count,
        "matched": file.matched_count,
        "problems": list(file.problems),
    }
