"""`dunwell webhook`: endpoints, their secrets, tests and replays (CONTRACT 9)."""

from datetime import UTC, datetime
from uuid import UUID

import click

from dunwell.cli.options import data_dir_option
from dunwell.cli.output import echo_json, render_table
from dunwell.cli.work import merchant_of_key, run_change, run_reading
from dunwell.events.body import EVENT_TYPES
from dunwell.events.endpoint import Endpoint, NewSecret
from dunwell.events.endpoints import load_endpoints, rotate_secret
from dunwell.events.replay_events import Replay, replay_events
from dunwell.events.retry import is_success
from dunwell.events.send_test import find_endpoint, send_test
from dunwell.events.sender import open_webhook_sender
from dunwell.events.store_deliveries import Reply
from dunwell.kit.resources import Resources
from dunwell.kit.texts import say_count
from dunwell.merchants.account import Work

_INSTANT = click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M:%SZ"])


@click.group("webhook", no_args_is_help=False)
def command() -> None:
    """Look at webhook endpoints, test them, give them new secrets, send events again."""


@command.command("list")
@data_dir_option
@click.argument("merchant")
@click.option("--json", "is_json", is_flag=True, help="Answer as JSON.")
def list_endpoints(data_dir: str | None, merchant: str, is_json: bool) -> None:
    """List the endpoints of MERCHANT (its key) and whether they are switched off."""

    async def read(work: Work, _: Resources) -> list[Endpoint]:
        return await load_endpoints(work.tx, work.merchant_id)

    endpoints = run_change(data_dir, "webhook", merchant_of_key(merchant), read)
    if is_json:
        echo_json([_as_json(each) for each in endpoints])
    elif endpoints:
        heads = ("ID", "URL", "EVENTS", "STATE")
        click.echo(render_table(heads, [_as_row(each) for each in endpoints]))
    else:
        click.echo("The merchant has no webhook. Name some in its file and apply that.")


@command.command("rotate")
@data_dir_option
@click.argument("merchant")
@click.argument("url")
def rotate(data_dir: str | None, merchant: str, url: str) -> None:
    """Give the endpoint URL of MERCHANT (its key) a new secret; both sign for 24 hours."""

    async def change(work: Work, resources: Resources) -> NewSecret:
        found = await find_endpoint(work.tx, work.merchant_id, url)
        return await rotate_secret(work, resources.keys, found.endpoint_id)

    new = run_change(data_dir, "webhook", merchant_of_key(merchant), change)
    click.echo(f"secret  {new.secret}")
    click.echo("The secret is shown this once only; keep it safe.", err=True)


@command.command("test")
@data_dir_option
@click.argument("merchant")
@click.argument("url")
def test(data_dir: str | None, merchant: str, url: str) -> None:
    """Send one signed test delivery to the endpoint URL of MERCHANT (its key).

    Prints what it answers; exit 1 unless that is a 2xx.
    """

    async def try_once(resources: Resources) -> Reply:
        async with resources.database.connection() as tx:
            merchant_id = await merchant_of_key(merchant)(tx)
            endpoint = await find_endpoint(tx, merchant_id, url)
        now = resources.clock.now()
        allow_loopback = resources.settings.is_development
        async with open_webhook_sender(allow_loopback=allow_loopback) as sender:
            return await send_test(
                sender, resources.keys, endpoint, event_id=resources.ids.new(now), now=now
            )

    reply = run_reading(data_dir, "webhook", try_once)
    click.echo(f"answer  {reply.status or reply.error}")
    if reply.answer:
        click.echo(f"body    {reply.answer}")
    if not is_success(reply.status):
        click.echo("That is no success: a live delivery would be tried again.", err=True)
        raise click.exceptions.Exit(1)


@command.command("replay")
@data_dir_option
@click.argument("merchant")
@click.option("--since", type=_INSTANT, required=True, help="Events of this date or later, UTC.")
@click.option("--until", type=_INSTANT, help="Only events before this date, UTC.")
@click.option(
    "--type", "types", type=click.Choice(EVENT_TYPES), multiple=True, help="May be repeated."
)
@click.option("--endpoint", "endpoint_id", type=click.UUID, help="Only to this endpoint.")
def replay(
    data_dir: str | None,
    merchant: str,
    since: datetime,
    until: datetime | None,
    types: tuple[str, ...],
    endpoint_id: UUID | None,
) -> None:
    """Send events of MERCHANT (its key) again, behind live ones, with their ids and bodies."""
    wanted = Replay(
        since=since.replace(tzinfo=UTC),
        until=None if until is None else until.replace(tzinfo=UTC),
        types=types or None,
        endpoint_id=endpoint_id,
    )

    async def change(work: Work, _: Resources) -> int:
        return await replay_events(work, wanted)

    count = run_change(data_dir, "webhook", merchant_of_key(merchant), change)
    click.echo(f"{say_count(count, 'delivery')} {'is' if count == 1 else 'are'} due again")


def _as_row(endpoint: Endpoint) -> tuple[str, ...]:
    state = endpoint.health.disabled_reason
    return (
        str(endpoint.endpoint_id),
        endpoint.url,
        ", ".join(endpoint.types),
        "on" if state is None else f"switched off ({state})",
    )


def _as_json(endpoint: Endpoint) -> dict[str, object]:
    """Without its secrets."""
    health = endpoint.health
    return {
        "id": endpoint.endpoint_id,
        "url": endpoint.url,
        "events": endpoint.types,
        "hasAuthorization": endpoint.authorization_sealed is not None,
        "failingSince": health.first_failure_at,
        "disabledAt": health.disabled_at,
        "disabledReason": health.disabled_reason,
        "probeAt": health.probe_at,
    }
