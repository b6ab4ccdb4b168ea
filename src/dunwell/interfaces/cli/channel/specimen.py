"""A specimen of a letter by a line: printed, and put where the service looks, or in a file."""

import asyncio
from datetime import datetime
from pathlib import Path
from uuid import UUID

import asyncssh

from dunwell.accounts.installation.current_installation import StandingInstallation
from dunwell.accounts.installation.delivery_providers import FolderLine, SftpLine
from dunwell.adapters.channels.print_service.letter_files import LetterUnfit
from dunwell.adapters.channels.print_service.specimen import (
    NOBODY,
    hand_over_specimen,
    make_specimen_files,
    name_document,
    print_specimen,
)
from dunwell.contact.messages.letters.printer import LetterPrinter, Unprintable
from dunwell.contact.sending.batches.depot import HostKeyRefused
from dunwell.contact.sending.channel import Accepted, LineUnusable, Message
from dunwell.interfaces.cli.findings.letters import open_line
from dunwell.platform.errors import Refusal
from dunwell.platform.resources import Resources

_SECONDS = 60


async def try_letter(
    resources: Resources, installation: StandingInstallation, name: str,
    *, recipient: str, out: Path | None,
) -> Accepted:  # fmt: skip
    """recipient: the lines of an address, with commas between. Raises Refusal."""
    line = installation.lines[name]
    assert isinstance(line, FolderLine | SftpLine), "a line for letters"
    address = [each.strip() for each in recipient.split(",") if each.strip()]
    printer = LetterPrinter(1, fonts=resources.settings.fonts)
    try:
        pdf = await print_specimen(
            name, line, address, printer,
            operator=installation.operator, public_url=resources.settings.public_url,
        )  # fmt: skip
        if out is not None:
            await asyncio.to_thread(out.write_bytes, pdf)
            return Accepted(f"{out} written, nothing handed over")
        return await _hand_over(resources, installation, name, address=address, pdf=pdf)
    except (Unprintable, LetterUnfit) as error:
        raise Refusal(f"The letter cannot be printed so. {error}") from error
    finally:
        await printer.close()


async def _hand_over(
    resources: Resources, installation: StandingInstallation, name: str,
    *, address: list[str], pdf: bytes,
) -> Accepted:  # fmt: skip
    """Raises Refusal, LetterUnfit."""
    line, now = installation.lines[name], resources.clock.now()
    assert isinstance(line, FolderLine | SftpLine), "a line for letters"
    message = _write(resources.ids.new(now), now, address=address, pdf=pdf)
    printer = LetterPrinter(1)
    try:
        files = await make_specimen_files(line, message, resources.keys, printer)
    finally:
        await printer.close()
    try:
        depot = open_line(name, line, installation.secrets)
    except LineUnusable as error:
        raise Refusal(f"The line {name} cannot be used: {error}") from error
    try:
        async with asyncio.timeout(_SECONDS):
            manifest = await hand_over_specimen(
                depot, name, files, resources.ids.new(now), made_at=now
            )
    except HostKeyRefused as error:
        words = "shows another host key than the pinned one: nothing was handed over."
        raise Refusal(f"The server of the line {name} {words} Run: dunwell doctor") from error
    except (OSError, asyncssh.Error) as error:
        told = type(error).__name__
        raise Refusal(f"The line {name} did not take it ({told}). Run: dunwell doctor") from error
    finally:
        await depot.close()
    return Accepted(f"{manifest} names {', '.join(files.contents)}")


def _write(message_id: UUID, now: datetime, *, address: list[str], pdf: bytes) -> Message:
    return Message(
        communication_id=message_id,
        merchant_id=NOBODY,
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
        document=name_document(pdf),
    )
