"""`dunwell webhook`: endpoints, their secrets, tests and replays (CONTRACT 9)."""

from datetime import UTC, datetime
from uuid import UUID

import click

from dunwell.accounts.merchants.account import Work
from dunwell.core.events.body import KNOWN_EVENT_TYPES
from dunwell.core.events.deliveries.delivery_log import get_delivery_gap_report
from dunwell.core.events.deliveries.proof import DeliveryGapReport, render_gap_report
from dunwell.core.events.deliveries.replay import ReplayFilter, replay_events
from dunwell.core.events.webhooks.delivery import open_webhook_sender
from dunwell.core.events.webhooks.endpoint import NewEndpointSecret, WebhookEndpoint
from dunwell.core.events.webhooks.endpoints import rotate_secret, switch_on_endpoint
from dunwell.core.events.webhooks.retry import is_success
from dunwell.core.events.webhooks.send_test import get_endpoint_by_url, send_test, start_test
from dunwell.core.events.webhooks.store import AttemptResult, load_endpoints
from dunwell.interfaces.cli.options import data_dir_option
from dunwell.interfaces.cli.output import echo_json, render_table
from dunwell.interfaces.cli.work import find_merchant_by_key, open_work, run_query, run_use_case
from dunwell.platform.resources import Resources
from dunwell.platform.text.texts import render_count

_INSTANT = click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M:%SZ"])


@click.group("webhook", no_args_is_help=False)
def command() -> None:
    """Show and test webhook endpoints, rotate their secrets, and replay events."""


@command.command("list")
@data_dir_option
@click.argument("merchant")
@click.option("--json", "is_json", is_flag=True, help="Print JSON.")
def list_endpoints(data_dir: str | None, merchant: str, is_json: bool) -> None:
    """List the endpoints of MERCHANT (its key), and which of them fail or are disabled."""

    async def query(work: Work, _: Resources) -> list[WebhookEndpoint]:
        return await load_endpoints(work.tx, work.merchant_id)

    endpoints = run_use_case(data_dir, "webhook", find_merchant_by_key(merchant), query)
    if is_json:
        echo_json([_build_json_view(each) for each in endpoints])
    elif endpoints:
        heads = ("ID", "URL", "EVENTS", "STATE", "FAILING SINCE")
        click.echo(render_table(heads, [_build_row(each) for each in endpoints]))
    else:
        click.echo("The merchant has no webhook endpoints. Add them to its file, and apply it.")


@command.command("rotate")
@data_dir_option
@click.argument("merchant")
@click.argument("url")
def rotate(data_dir: str | None, merchant: str, url: str) -> None:
    """Give the endpoint URL of MERCHANT (its key) a new secret. Both secrets sign for 24 hours."""

    async def change(work: Work, resources: Resources) -> NewEndpointSecret:
        endpoint = await get_endpoint_by_url(work.tx, work.merchant_id, url)
        return await rotate_secret(work, resources.keys, endpoint.endpoint_id)

    new = run_use_case(data_dir, "webhook", find_merchant_by_key(merchant), change)
    click.echo(f"secret  {new.secret}")
    click.echo("The secret is shown only once. Keep it safe.", err=True)


@command.command("test")
@data_dir_option
@click.argument("merchant")
@click.argument("url")
def test(data_dir: str | None, merchant: str, url: str) -> None:
    """Send one signed test event to the endpoint URL of MERCHANT (its key).

    Prints the response. Exits with 1 unless its status is 2xx.
    """

    async def try_once(resources: Resources) -> AttemptResult:
        async with open_work(resources, find_merchant_by_key(merchant)) as work:
            endpoint = await get_endpoint_by_url(work.tx, work.merchant_id, url)
            started = await start_test(work, endpoint.endpoint_id)
        settings = resources.settings
        async with open_webhook_sender(
            allow_loopback=settings.is_development, authorities=settings.ca
        ) as sender:
            return await send_test(sender, resources.keys, started)

    result = run_query(data_dir, "webhook", try_once)
    click.echo(f"answer  {result.status or result.error}")
    if result.response:
        click.echo(f"body    {result.response}")
    if not is_success(result.status):
        click.echo("This is not a success: a real delivery would be retried.", err=True)
        raise click.exceptions.Exit(1)


@command.command("proof")
@data_dir_option
@click.argument("merchant")
@click.argument("url")
@click.option("--from", "first_number", type=click.IntRange(min=1), default=1, show_default=True,
              help="The number of the first delivery.")  # fmt: skip
@click.option("--json", "is_json", is_flag=True, help="Print JSON.")
def proof(
    data_dir: str | None, merchant: str, url: str, first_number: int, *, is_json: bool
) -> None:
    """Show whether the endpoint URL of MERCHANT (its key) has acknowledged all events that were
    sent.

    Exits with 1 if events are missing.
    """

    async def query(work: Work, _: Resources) -> DeliveryGapReport:
        endpoint = await get_endpoint_by_url(work.tx, work.merchant_id, url)
        return await get_delivery_gap_report(work, endpoint.endpoint_id, first_number)

    report = run_use_case(data_dir, "webhook", find_merchant_by_key(merchant), query)
    if is_json:
        echo_json(_convert_report(report))
    else:
        click.echo("\n".join(render_gap_report(report)))
    if not report.is_complete:
        raise click.exceptions.Exit(1)


@command.command("on")
@data_dir_option
@click.argument("merchant")
@click.argument("url")
def switch_on(data_dir: str | None, merchant: str, url: str) -> None:
    """Enable the endpoint URL of MERCHANT (its key) again, without waiting for a probe."""

    async def change(work: Work, _: Resources) -> None:
        endpoint = await get_endpoint_by_url(work.tx, work.merchant_id, url)
        await switch_on_endpoint(work, endpoint.endpoint_id)

    run_use_case(data_dir, "webhook", find_merchant_by_key(merchant), change)
    click.echo("enabled")


@command.command("replay")
@data_dir_option
@click.argument("merchant")
@click.option("--since", type=_INSTANT, required=True, help="Events at or after this time, UTC.")
@click.option("--until", type=_INSTANT, help="Only events before this time, UTC.")
@click.option(
    "--type", "types", type=click.Choice(KNOWN_EVENT_TYPES), multiple=True, help="Can be repeated."
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
    """Send events of MERCHANT (its key) again with their ids and bodies, after new deliveries."""
    wanted = ReplayFilter(
        since=since.replace(tzinfo=UTC),
        until=None if until is None else until.replace(tzinfo=UTC),
        types=types or None,
        endpoint_id=endpoint_id,
    )

    async def change(work: Work, _: Resources) -> int:
        return await replay_events(work, wanted)

    count = run_use_case(data_dir, "webhook", find_merchant_by_key(merchant), change)
    click.echo(f"{render_count(count, 'delivery')} {'is' if count == 1 else 'are'} due again")


def _convert_report(report: DeliveryGapReport) -> dict[str, object]:
    return {
        "first": report.first,
        "last": report.last,
        "acknowledged": report.acknowledged,
        "missing": report.open,
        "behind": report.waiting,
        "isCut": report.is_cut,
        "gaps": [
            {"number": each.number, "eventId": each.event_id, "type": each.type,
             "claimId": each.claim_id, "sequence": each.sequence, "why": each.kind}
            for each in report.gaps
        ],
    }  # fmt: skip


def _build_row(endpoint: WebhookEndpoint) -> tuple[str, ...]:
    state, since = endpoint.health.disabled_reason, endpoint.health.first_failure_at
    return (
        str(endpoint.endpoint_id),
        endpoint.url,
        ", ".join(endpoint.types),
        "on" if state is None else f"disabled ({state})",
        "" if since is None else f"{since.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}",
    )


def _build_json_view(endpoint: WebhookEndpoint) -> dict[str, object]:
    """Convert the endpoint to JSON, without its secrets."""
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
