"""`dunwell channel test`: one message by a line, to yourself, without merchant and claim. Nothing
is written of it, as a contact or otherwise."""

import asyncio
from pathlib import Path

import click

from dunwell.accounts.installation.current_installation import StandingInstallation
from dunwell.accounts.installation.delivery_providers import FolderLine, SftpLine
from dunwell.adapters.lines import build_line
from dunwell.contact.sending.channel import Accepted, LineUnusable, Message, Outcome, Permanent
from dunwell.interfaces.cli.channel.deliveries import deliveries
from dunwell.interfaces.cli.channel.specimen import try_letter
from dunwell.interfaces.cli.options import data_dir_option
from dunwell.interfaces.cli.work import run_reading
from dunwell.platform.errors import NotFound, Refusal
from dunwell.platform.resources import Resources

_WORD = "channel"
_SECONDS = 60
_SUBJECT = "A test of Dunwell"
_TEXT = "This is a test of the line {name}. It is about no claim, and no answer is needed."


@click.group(_WORD, no_args_is_help=False)
def command() -> None:
    """Try the lines of the installation file, and see how messages fare by them."""


command.add_command(deliveries)


@command.command("test")
@data_dir_option
@click.argument("line")
@click.option(
    "--to", "recipient", required=True,
    help="An address of yours on the line's channel; a letter's with commas between its lines.",
)  # fmt: skip
@click.option("--from", "sender", default="", help="The sender; e-mail: an address.")
@click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path),
    help="Of a letter: write its PDF to this file, and hand nothing over.",
)  # fmt: skip
def test(data_dir: str | None, line: str, recipient: str, *, sender: str, out: Path | None) -> None:
    """Send one message by LINE to an address of yours. A letter is printed as a specimen, and
    handed over with a manifest of its own that says so."""

    async def run(resources: Resources) -> Outcome:
        return await _try(resources, line, recipient=recipient, sender=sender, out=out)

    outcome = run_reading(data_dir, _WORD, run)
    if isinstance(outcome, Accepted):
        said = f": {outcome.answer}" if outcome.answer else ""
        click.echo(f"The line {line} took it{said}. Look whether it arrives.")
    elif isinstance(outcome, Permanent):
        raise Refusal(f"The line {line} refused it for good. {outcome.reason}")
    else:
        words = f"The line {line} did not take it for now. dunwell doctor looks into why."
        raise Refusal(words)


async def _try(
    resources: Resources, name: str, *, recipient: str, sender: str, out: Path | None
) -> Outcome:
    """Raises NotFound, Refusal."""
    installation = StandingInstallation(resources)
    await installation.read()
    line = installation.lines.get(name)
    if line is None:
        known = ", ".join(installation.lines) or "none"
        raise NotFound(f"There is no line {name}; there are: {known}.")
    if isinstance(line, FolderLine | SftpLine):
        return await try_letter(resources, installation, name, recipient=recipient, out=out)
    if out is not None:
        raise Refusal("Only a letter is written to a file: leave --out out.")
    return await _send(resources, installation, name, recipient=recipient, sender=sender)


async def _send(
    resources: Resources, installation: StandingInstallation, name: str,
    *, recipient: str, sender: str,
) -> Outcome:  # fmt: skip
    """Raises Refusal."""
    line = installation.lines[name]
    try:
        adapter = build_line(name, line, installation.secrets, resources)
    except LineUnusable as error:
        raise Refusal(f"The line {name} cannot be used: {error}") from error
    now = resources.clock.now()
    message = Message(
        # Of no merchant: what comes back of it is shown as unmatched.
        communication_id=resources.ids.new(now),
        merchant_id=0,
        claim_id=0,
        channel=line.channel,
        recipient=recipient,
        sender=sender or recipient,
        sender_name="Dunwell",
        reply_to=None,
        language="en",
        subject=_SUBJECT if line.channel == "EMAIL" else None,
        body_text=_TEXT.format(name=name),
        body_html=None,
        created_at=now,
    )
    try:
        async with asyncio.timeout(_SECONDS):
            return await adapter.send(message)
    except Exception as error:
        words = f"Nobody knows whether the line {name} took it ({type(error).__name__})."
        raise Refusal(words) from error
    finally:
        await adapter.close()
