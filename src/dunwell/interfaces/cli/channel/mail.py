"""`dunwell mail`: one process that receives bounces and replies to e-mails by SMTP, LMTP and
IMAP."""

import asyncio
import signal
from contextlib import AsyncExitStack

import click

from dunwell.accounts.installation.current_installation import open_current_installation
from dunwell.adapters.mail.listener import MailHandler, Protocol, listen
from dunwell.adapters.mail.receive_mail import MailParser
from dunwell.interfaces.cli.options import data_dir_option, read_settings
from dunwell.interfaces.cli.serving import print_when_ready
from dunwell.interfaces.wiring import list_mail_loops
from dunwell.interfaces.worker.loops import run_loops
from dunwell.operations.recovery.restore_hold import wait_until_resumed
from dunwell.platform.children.process import tune_garbage_collector
from dunwell.platform.config import Settings
from dunwell.platform.config.private_folder import restrict_access
from dunwell.platform.errors import Refusal
from dunwell.platform.resources import open_resources

Listeners = list[tuple[Protocol, str, int]]


@click.command("mail")
@data_dir_option
@click.option("--lmtp", metavar="HOST:PORT", help="Listen for a mail server on this machine.")
@click.option("--smtp", metavar="HOST:PORT", help="Listen for other mail servers, unencrypted.")
def command(data_dir: str | None, lmtp: str | None, smtp: str | None) -> None:
    """Receive bounces and replies that are sent to the return domains of the delivery providers,
    and read the providers' mailboxes. Without --lmtp and --smtp, only mailboxes are read."""
    listeners: Listeners = []
    for protocol, address in (("LMTP", lmtp), ("SMTP", smtp)):
        if address is not None:
            host, port = _parse_address(address)
            listeners.append(("LMTP" if protocol == "LMTP" else "SMTP", host, port))
    settings = read_settings("mail", data_dir=data_dir)
    restrict_access(settings)
    tune_garbage_collector()
    asyncio.run(_serve(settings, listeners))


def _parse_address(address: str) -> tuple[str, int]:
    """Return the host and the port. Raises Refusal."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65_535:
        raise Refusal(f'"{address}" is not an address to listen on. Example: 127.0.0.1:8024.')
    return host.strip("[]"), int(port)


async def _serve(settings: Settings, listeners: Listeners) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with AsyncExitStack() as closing:
        resources = await closing.enter_async_context(open_resources(settings, "mail"))
        # A restored copy must not take the mail of the installation that it was copied from.
        await wait_until_resumed(resources, stop)
        installation = await closing.enter_async_context(open_current_installation(resources))
        parser = MailParser()
        closing.push_async_callback(parser.close)
        handler = MailHandler(resources, parser, lambda: installation.delivery_providers)
        sources = ["mailboxes"]
        for protocol, host, port in listeners:
            bound_port = await closing.enter_async_context(listen(handler, protocol, host, port))
            sources.append(f"{protocol} at {host}:{bound_port}")
        loops = list_mail_loops(resources, parser, installation)
        async with print_when_ready(resources, f"ready, mail: {', '.join(sources)}"):
            await run_loops(loops, stop, clock=resources.clock)
