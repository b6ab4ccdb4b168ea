"""`dunwell audit`: show who changed what for a merchant or the installation."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import click
import msgspec

from dunwell.accounts.installation.audit_log import AuditEntry, AuditFilter
from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import COMMAND_LINE
from dunwell.accounts.merchants.audit_log import list_audit, list_installation_audit
from dunwell.interfaces.cli.options import data_dir_option
from dunwell.interfaces.cli.output import echo_json
from dunwell.interfaces.cli.work import find_merchant_by_key, run_query, run_use_case
from dunwell.platform.database.listed_table import ListPage
from dunwell.platform.resources import Resources

_WORD = "audit"


@click.command(_WORD)
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
def command(
    data_dir: str | None, merchant: str | None, limit: int, cursor: str | None,
    *, is_json: bool, **wanted: Any,
) -> None:  # fmt: skip
    """Show the audit log of MERCHANT (its key), newest first, or the installation's without one.

    Each changed field is shown with its values before and after. Personal data is masked.
    """
    wanted_rows = _read_filter(**wanted)

    async def read(work: Work, _: Resources) -> ListPage[AuditEntry]:
        return await list_audit(work, limit=limit, cursor=cursor, wanted=wanted_rows)

    async def read_installation(resources: Resources) -> ListPage[AuditEntry]:
        async with resources.database.connection() as connection:
            return await list_installation_audit(
                connection, COMMAND_LINE, limit=limit, cursor=cursor, wanted=wanted_rows
            )

    if merchant is None:
        page = run_query(data_dir, _WORD, read_installation)
    else:
        page = run_use_case(data_dir, _WORD, find_merchant_by_key(merchant), read)
    if is_json:
        echo_json({"items": page.items, "nextCursor": page.next_cursor})
        return
    for entry in page.items:
        click.echo("\n".join(_render(entry)))
    if page.next_cursor is not None:
        click.echo(f"More: --cursor {page.next_cursor}")


def _read_filter(
    since: datetime | None, until: datetime | None,
    actor: str | None, action: str | None, subject: str | None,
) -> AuditFilter:  # fmt: skip
    return AuditFilter(
        since=_as_utc(since), until=_as_utc(until), actor_id=actor, action=action, subject=subject
    )


def _as_utc(day: datetime | None) -> datetime | None:
    return None if day is None else day.replace(tzinfo=UTC)


def _render(entry: AuditEntry) -> Iterator[str]:
    actor = entry.actor_kind if entry.actor_id is None else f"{entry.actor_kind} {entry.actor_id}"
    yield f"{entry.at:%Y-%m-%d %H:%M:%S}Z  {entry.action}  {entry.subject}  by {actor}"
    before, after = entry.before or {}, entry.after or {}
    for name in {**before, **after}:
        yield f"    {name}: {_show(before, name)} -> {_show(after, name)}"


def _show(values: Mapping[str, Any], name: str) -> str:
    return msgspec.json.encode(values.get(name)).decode()
