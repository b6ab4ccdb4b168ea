"""`dunwell audit`: show who changed what for a merchant or the installation. `dunwell
verify-ledger`: verify that the ledger and the audit log have not been changed."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import click
import msgspec

from dunwell.accounts.installation.audit_log import AuditEntry, AuditFilter
from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import COMMAND_LINE
from dunwell.accounts.merchants.audit_log import list_audit, list_installation_audit
from dunwell.contact.messages.ledger.store import SealHead
from dunwell.contact.messages.ledger.verify_ledger import (
    LedgerVerdict,
    list_merchant_ids,
    verify_ledger,
)
from dunwell.interfaces.cli.options import data_dir_option
from dunwell.interfaces.cli.output import echo_json
from dunwell.interfaces.cli.work import find_merchant_by_key, run_query, run_use_case
from dunwell.operations.seals.seals import verify_installation_seals
from dunwell.platform.database.listed_table import ListPage
from dunwell.platform.resources import Resources
from dunwell.platform.text.texts import render_count

_COMMAND = "audit"


@click.command(_COMMAND)
@data_dir_option
@click.argument("merchant", required=False)
@click.option("--limit", type=click.IntRange(1, 1000), default=50, show_default=True)
@click.option("--cursor", help="The cursor that the previous page printed.")
@click.option("--since", type=click.DateTime(["%Y-%m-%d"]), help="On or after this day, UTC.")
@click.option("--until", type=click.DateTime(["%Y-%m-%d"]), help="Before this day, UTC.")
@click.option("--actor", help="A client id, a user id, or a command.")
@click.option("--action", help="For example claim.archive.")
@click.option("--subject", help="For example claim:4711.")
@click.option("--json", "is_json", is_flag=True, help="Print JSON.")
def audit(
    data_dir: str | None, merchant: str | None, limit: int, cursor: str | None,
    *, is_json: bool, **wanted: Any,
) -> None:  # fmt: skip
    """Show the audit log of MERCHANT (its key), newest first, or the installation's without one.

    Each changed field is shown with its values before and after. Personal data is masked.
    """
    row_filter = _parse_filter(**wanted)

    async def query(work: Work, _: Resources) -> ListPage[AuditEntry]:
        return await list_audit(work, limit=limit, cursor=cursor, wanted=row_filter)

    async def query_installation(resources: Resources) -> ListPage[AuditEntry]:
        async with resources.database.connection() as connection:
            return await list_installation_audit(
                connection, COMMAND_LINE, limit=limit, cursor=cursor, wanted=row_filter
            )

    if merchant is None:
        page = run_query(data_dir, _COMMAND, query_installation)
    else:
        page = run_use_case(data_dir, _COMMAND, find_merchant_by_key(merchant), query)
    if is_json:
        echo_json({"items": page.items, "nextCursor": page.next_cursor})
        return
    for entry in page.items:
        click.echo("\n".join(_render_entry(entry)))
    if page.next_cursor is not None:
        click.echo(f"More: --cursor {page.next_cursor}")


def _parse_filter(
    since: datetime | None, until: datetime | None,
    actor: str | None, action: str | None, subject: str | None,
) -> AuditFilter:  # fmt: skip
    return AuditFilter(
        since=_as_utc(since), until=_as_utc(until), actor_id=actor, action=action, subject=subject
    )


def _as_utc(day: datetime | None) -> datetime | None:
    return None if day is None else day.replace(tzinfo=UTC)


def _render_entry(entry: AuditEntry) -> Iterator[str]:
    actor = entry.actor_kind if entry.actor_id is None else f"{entry.actor_kind} {entry.actor_id}"
    yield f"{entry.at:%Y-%m-%d %H:%M:%S}Z  {entry.action}  {entry.subject}  by {actor}"
    before, after = entry.before or {}, entry.after or {}
    for name in {**before, **after}:
        yield f"    {name}: {_render_values(before, name)} -> {_render_values(after, name)}"


def _render_values(values: Mapping[str, Any], name: str) -> str:
    return msgspec.json.encode(values.get(name)).decode()


_VERIFY = "verify-ledger"
_DIGEST_BYTES = 32


def _parse_head(
    _ctx: click.Context, _parameter: click.Parameter, value: str | None
) -> SealHead | None:
    """Parse SEAL:DIGEST, as this command prints it. Raises BadParameter."""
    if value is None:
        return None
    number, _, digest = value.partition(":")
    try:
        head = SealHead(int(number), bytes.fromhex(digest))
    except ValueError:
        head = SealHead(0, b"")
    if head.seal < 1 or len(head.digest) != _DIGEST_BYTES:
        raise click.BadParameter(f"{value!r} is not SEAL:DIGEST as printed by this command.")
    return head


@click.command(_VERIFY)
@data_dir_option
@click.argument("merchant", required=False)
@click.option(
    "--expect",
    metavar="SEAL:DIGEST",
    callback=_parse_head,
    help="A head from an earlier run; needs MERCHANT or --installation.",
)
@click.option(
    "--installation", "is_installation", is_flag=True,
    help="Verify the audit log of the installation.",
)  # fmt: skip
@click.option("--json", "is_json", is_flag=True, help="Print JSON.")
def verify_ledger_command(
    data_dir: str | None, merchant: str | None, expect: SealHead | None,
    *, is_installation: bool, is_json: bool,
) -> None:  # fmt: skip
    """Verify the ledger of MERCHANT (its key), or all ledgers. Exit with 1 on any fault.

    Prints the head of each chain. Keep it where the database administrator cannot write, and pass
    it to --expect later: a chain that was cut or rebuilt does not contain it.
    """
    if is_installation and merchant is not None:
        raise click.UsageError("Give either MERCHANT or --installation: they have separate chains.")
    if expect is not None and merchant is None and not is_installation:
        raise click.UsageError("--expect needs MERCHANT or --installation: each has its own chain.")

    async def query(resources: Resources) -> list[LedgerVerdict]:
        if is_installation:
            return [await verify_installation_seals(resources, expect)]
        merchant_ids = await _list_merchants_to_verify(resources, merchant)
        verdicts = [await verify_ledger(resources, each, expect) for each in merchant_ids]
        if merchant is None:
            installation_verdict = await verify_installation_seals(resources)
            # Until a user has signed in, there is nothing to report.
            verdicts += (
                [installation_verdict]
                if installation_verdict.head
                or installation_verdict.unsealed_rows
                or installation_verdict.fault_count
                else []
            )
        return verdicts

    verdicts = run_query(data_dir, _VERIFY, query)
    if is_json:
        echo_json([_build_json_view(each) for each in verdicts])
    else:
        for verdict in verdicts:
            _print_verdict(verdict)
    if not all(verdict.is_sound for verdict in verdicts):
        raise SystemExit(1)


async def _list_merchants_to_verify(resources: Resources, key: str | None) -> Sequence[int]:
    if key is None:
        return await list_merchant_ids(resources)
    async with resources.database.connection() as connection:
        return [await find_merchant_by_key(key)(connection)]


def _print_verdict(verdict: LedgerVerdict) -> None:
    result = "sound" if verdict.is_sound else f"FAULTY ({verdict.fault_count:,} found)"
    name = verdict.merchant_key or "(installation)"
    click.echo(
        f"{name}  {result}  {render_count(verdict.sealed_rows, 'row')} sealed, "
        f"{verdict.unsealed_rows:,} not yet"
    )
    click.echo(f"  head  {_render_head(verdict.head) or 'none'}")
    for finding in verdict.findings:
        click.echo(f"  {finding.fault:<19}  {finding.message}")
    if verdict.fault_count > len(verdict.findings):
        click.echo(f"  and {verdict.fault_count - len(verdict.findings):,} more")


def _render_head(head: SealHead | None) -> str | None:
    return None if head is None else f"{head.seal}:{head.digest.hex()}"


def _build_json_view(verdict: LedgerVerdict) -> dict[str, object]:
    return {
        "merchant": verdict.merchant_key or None,
        "isSound": verdict.is_sound,
        "head": _render_head(verdict.head),
        "sealedRows": verdict.sealed_rows,
        "unsealedRows": verdict.unsealed_rows,
        "faultCount": verdict.fault_count,
        "findings": [
            {"fault": each.fault, "seal": each.seal, "message": each.message}
            for each in verdict.findings
        ],
    }
