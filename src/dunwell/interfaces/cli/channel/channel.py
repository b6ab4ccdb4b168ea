"""`dunwell channel`: test a delivery provider with a message to yourself, print a specimen letter,
and show delivery figures."""

import asyncio
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from uuid import UUID

import asyncssh
import click
import msgspec

from dunwell.accounts.installation.current_installation import CurrentInstallation
from dunwell.accounts.installation.delivery_providers import FolderProvider, SftpProvider
from dunwell.accounts.merchants.actor import COMMAND_LINE
from dunwell.adapters.channels.print_service.letter_files import (
    NO_MERCHANT,
    LetterRejected,
    build_document,
    build_specimen_files,
    print_specimen,
    upload_specimen,
)
from dunwell.adapters.delivery_providers import build_delivery_provider
from dunwell.contact.messages.letters.printer import LetterPrinter, Unprintable
from dunwell.contact.sending.batches.letter_folder import HostKeyRefused
from dunwell.contact.sending.channel import (
    Accepted,
    DeliveryProviderUnusable,
    Message,
    Outcome,
    Permanent,
)
from dunwell.interfaces.cli.findings.letters import open_print_provider
from dunwell.interfaces.cli.options import data_dir_option
from dunwell.interfaces.cli.output import echo_json, render_table
from dunwell.interfaces.cli.work import run_query
from dunwell.operations.dashboards.delivery_providers import (
    DestinationState,
    ProviderOverview,
    load_provider_overview,
)
from dunwell.operations.dashboards.figures import DestinationFigures, FailureReason
from dunwell.platform.errors import NotFound, Refusal
from dunwell.platform.resources import Resources

_COMMAND = "channel"
_HEADS = ("provider", "destination", "sent", "delivered", "failed", "rate", "no report", "")


class DestinationView(msgspec.Struct, frozen=True, rename="camel"):
    """The figures of one destination, as JSON output has them."""

    delivery: DestinationFigures
    reasons: list[FailureReason]
    is_losing: bool


@click.command("deliveries")
@data_dir_option
@click.option("--json", "is_json", is_flag=True, help="Print JSON.")
def deliveries(data_dir: str | None, *, is_json: bool) -> None:
    """Show the delivery figures of the last seven days by delivery provider, receiving domain and
    country."""

    async def query(resources: Resources) -> ProviderOverview:
        async with resources.database.transaction() as tx:
            return await load_provider_overview(tx, COMMAND_LINE, resources.clock.now())

    view = run_query(data_dir, _COMMAND, query)
    if is_json:
        echo_json([_build_view(each) for each in view.destinations])
        return
    rows = [_render_row(each) for each in view.destinations]
    click.echo(render_table(_HEADS, rows, right=_HEADS[2:7]) if rows else "No messages were sent.")
    for line in _list_reasons(view):
        click.echo(line)


def _build_view(destination: DestinationState) -> DestinationView:
    return DestinationView(
        destination.delivery, list(destination.reasons), destination.has_too_many_failures
    )


def _render_row(destination: DestinationState) -> tuple[str, ...]:
    delivery, sent = destination.delivery, destination.delivery.sent
    return (
        delivery.provider, delivery.destination or "-", f"{sent.sent:,}", f"{sent.delivered:,}",
        f"{sent.failed:,}", f"{sent.failed * 100 / sent.sent:.1f} %", f"{sent.silent:,}",
        "too many" if destination.has_too_many_failures else "",
    )  # fmt: skip


def _list_reasons(view: ProviderOverview) -> Iterator[str]:
    failed = [reason for each in view.destinations for reason in each.reasons]
    if failed:
        yield "\nReasons"
    for each in failed:
        about_us = " (the sender is refused)" if each.cause == "ABOUT_US" else ""
        place = f"{each.provider} {each.destination or '-'}"
        yield f"  {place}: {each.messages:,} x {each.reason}{about_us}"


_UPLOAD_TIMEOUT_SECONDS = 60


async def send_specimen_letter(
    resources: Resources, installation: CurrentInstallation, name: str,
    *, recipient: str, out: Path | None,
) -> Accepted:  # fmt: skip
    """Print a specimen letter, and hand it over to the print service. With `out`, write its PDF to
    that file instead. `recipient` has the lines of an address, separated by commas. Raises Refusal.
    """
    provider = installation.delivery_providers[name]
    assert isinstance(provider, FolderProvider | SftpProvider), "a provider for letters"
    address = [each.strip() for each in recipient.split(",") if each.strip()]
    printer = LetterPrinter(1, fonts=resources.settings.fonts)
    try:
        pdf = await print_specimen(
            name, provider, address, printer,
            operator=installation.operator, public_url=resources.settings.public_url,
        )  # fmt: skip
        if out is not None:
            await asyncio.to_thread(out.write_bytes, pdf)
            return Accepted(f"{out} written, nothing handed over")
        return await _hand_over(resources, installation, name, address=address, pdf=pdf)
    except (Unprintable, LetterRejected) as error:
        raise Refusal(f"The letter cannot be printed. {error}") from error
    finally:
        await printer.close()


async def _hand_over(
    resources: Resources, installation: CurrentInstallation, name: str,
    *, address: list[str], pdf: bytes,
) -> Accepted:  # fmt: skip
    """Hand the specimen over to the print service. Raises Refusal, LetterRejected."""
    provider, now = installation.delivery_providers[name], resources.clock.now()
    assert isinstance(provider, FolderProvider | SftpProvider), "a provider for letters"
    message = _build_specimen_message(resources.ids.new(now), now, address=address, pdf=pdf)
    printer = LetterPrinter(1)
    try:
        files = await build_specimen_files(provider, message, resources.keys, printer)
    finally:
        await printer.close()
    try:
        letter_folder = open_print_provider(name, provider, installation.secrets)
    except DeliveryProviderUnusable as error:
        raise Refusal(f"Provider {name} cannot be used: {error}") from error
    try:
        async with asyncio.timeout(_UPLOAD_TIMEOUT_SECONDS):
            manifest = await upload_specimen(
                letter_folder, name, files, resources.ids.new(now), created_at=now
            )
    except HostKeyRefused as error:
        words = "has another host key than the pinned one. Nothing was handed over."
        raise Refusal(f"The server of provider {name} {words} Run: dunwell doctor") from error
    except (OSError, asyncssh.Error) as error:
        cause = type(error).__name__
        raise Refusal(
            f"Provider {name} did not accept it ({cause}). Run: dunwell doctor"
        ) from error
    finally:
        await letter_folder.close()
    return Accepted(f"{manifest} names {', '.join(files.contents)}")


def _build_specimen_message(
    message_id: UUID, now: datetime, *, address: list[str], pdf: bytes
) -> Message:
    return Message(
        communication_id=message_id,
        merchant_id=NO_MERCHANT,
        claim_id=0,
        channel="LETTER",
        recipient="\n".join(address),
        sender="",
        sender_name="Dunwell",
        reply_to=None,
        language="en",
        subject=None,
        body_text="",
        body_html=None,
        created_at=now,
        document=build_document(pdf),
    )


_SEND_TIMEOUT_SECONDS = 60
_SUBJECT = "Dunwell test message"
_TEXT = "This is a test of the delivery provider {name}. You do not have to reply."


@click.group(_COMMAND, no_args_is_help=False)
def command() -> None:
    """Test delivery providers of the installation file, and show delivery figures."""


command.add_command(deliveries)


@command.command("test")
@data_dir_option
@click.argument("provider")
@click.option(
    "--to", "recipient", required=True,
    help="Your own address in the provider's channel; for a letter, its lines separated by commas.",
)  # fmt: skip
@click.option("--from", "sender", default="", help="The sender; for e-mail, an address.")
@click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path),
    help="For a letter: write the PDF to this file, and hand nothing over.",
)  # fmt: skip
def test(
    data_dir: str | None, provider: str, recipient: str, *, sender: str, out: Path | None
) -> None:
    """Send one test message through PROVIDER to your own address.

    A letter is printed as a specimen, and handed over with a separate manifest, which marks it as a
    specimen.
    """

    async def run(resources: Resources) -> Outcome:
        return await _send_test(resources, provider, recipient=recipient, sender=sender, out=out)

    outcome = run_query(data_dir, _COMMAND, run)
    if isinstance(outcome, Accepted):
        response = f": {outcome.answer}" if outcome.answer else ""
        click.echo(f"Provider {provider} accepted it{response}. Check that it arrives.")
    elif isinstance(outcome, Permanent):
        raise Refusal(f"Provider {provider} rejected it permanently. {outcome.reason}")
    else:
        words = f"Provider {provider} did not accept it for now. Run: dunwell doctor"
        raise Refusal(words)


async def _send_test(
    resources: Resources, name: str, *, recipient: str, sender: str, out: Path | None
) -> Outcome:
    """Send the test message, or print the specimen letter. Raises NotFound, Refusal."""
    installation = CurrentInstallation(resources)
    await installation.refresh()
    provider = installation.delivery_providers.get(name)
    if provider is None:
        known = ", ".join(installation.delivery_providers) or "none"
        raise NotFound(f"There is no delivery provider {name}. Known: {known}.")
    if isinstance(provider, FolderProvider | SftpProvider):
        return await send_specimen_letter(
            resources, installation, name, recipient=recipient, out=out
        )
    if out is not None:
        raise Refusal("Only a letter can be written to a file. Omit --out.")
    return await _send_test_message(
        resources, installation, name, recipient=recipient, sender=sender
    )


async def _send_test_message(
    resources: Resources, installation: CurrentInstallation, name: str,
    *, recipient: str, sender: str,
) -> Outcome:  # fmt: skip
    """Send the test message by e-mail or SMS. Raises Refusal."""
    provider = installation.delivery_providers[name]
    try:
        adapter = build_delivery_provider(name, provider, installation.secrets, resources)
    except DeliveryProviderUnusable as error:
        raise Refusal(f"Provider {name} cannot be used: {error}") from error
    now = resources.clock.now()
    message = Message(
        # The message belongs to no merchant, so bounces and replies to it are listed as unmatched.
        communication_id=resources.ids.new(now),
        merchant_id=0,
        claim_id=0,
        channel=provider.channel,
        recipient=recipient,
        sender=sender or recipient,
        sender_name="Dunwell",
        reply_to=None,
        language="en",
        subject=_SUBJECT if provider.channel == "EMAIL" else None,
        body_text=_TEXT.format(name=name),
        body_html=None,
        created_at=now,
    )
    try:
        async with asyncio.timeout(_SEND_TIMEOUT_SECONDS):
            return await adapter.send(message)
    except Exception as error:
        words = f"Delivery status unknown: provider {name} failed with {type(error).__name__}."
        raise Refusal(words) from error
    finally:
        await adapter.close()
