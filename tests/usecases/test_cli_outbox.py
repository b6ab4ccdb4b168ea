"""`dunwell outbox show` shows stored messages, encrypted or not."""

from pathlib import Path
from uuid import UUID

import pytest

from dunwell.adapters.channels.outbox.channel import OutboxEmail, OutboxLetter
from dunwell.contact.sending.channel import MessageFile
from dunwell.platform.crypto import KeyRing
from dunwell.platform.resources import Resources
from tests.support.command_line import CommandLine
from tests.support.messages import a_message

_ID = "01900000-0000-7000-8000-000000000001"
_LETTER = a_message(
    communication_id=UUID(_ID), recipient="Erika Mustermann\nAm Markt 1\n20095 Hamburg",
    document=MessageFile("letter.pdf", "application/pdf", b"%PDF-letter"),
)  # fmt: skip


@pytest.mark.parametrize("is_sealed", [False, True])
async def test_an_email_is_printed_as_it_was_written(
    dunwell: CommandLine, resources: Resources, *, is_sealed: bool
) -> None:
    keys = resources.keys if is_sealed else None
    message = a_message(communication_id=UUID(_ID), subject="Ihre Rechnung 4711")
    await OutboxEmail(resources.settings.data_dir, keys=keys).send(message)
    [path] = (resources.settings.data_dir / "outbox/1/EMAIL").iterdir()

    done = dunwell.run("outbox", "show", _ID)

    assert (b"4711" in path.read_bytes()) is not is_sealed
    assert done.returncode == 0
    assert "Ihre Rechnung 4711" in done.stdout


@pytest.mark.parametrize("is_sealed", [False, True])
async def test_all_files_of_a_letter_are_written_to_a_private_folder(
    dunwell: CommandLine, resources: Resources, tmp_path: Path, *, is_sealed: bool
) -> None:
    keys = resources.keys if is_sealed else None
    await OutboxLetter(resources.settings.data_dir, keys=keys).send(_LETTER)

    shown = dunwell.run("outbox", "show", _ID)
    done = dunwell.run("outbox", "show", _ID, "--into", str(tmp_path / "opened"))

    assert "Erika Mustermann" in shown.stdout
    assert f"{_ID}.pdf: 11 bytes" in shown.stderr
    assert done.stdout.count("\n") == 2
    pdf = tmp_path / "opened" / f"{_ID}.pdf"
    assert (pdf.read_bytes(), pdf.stat().st_mode & 0o777) == (b"%PDF-letter", 0o600)
    assert pdf.parent.stat().st_mode & 0o777 == 0o700


def test_an_unknown_message_is_reported(dunwell: CommandLine) -> None:
    done = dunwell.run("outbox", "show", _ID)
    assert (done.returncode, done.stdout) == (1, "")
    assert "another key" in done.stderr or "no message" in done.stderr
    assert "Traceback" not in done.stderr
    assert f"There is no message {_ID}" in done.stderr


async def test_an_encrypted_message_is_not_shown_without_its_key(
    dunwell: CommandLine, resources: Resources
) -> None:
    other = KeyRing({1: b"o" * 32})
    await OutboxEmail(resources.settings.data_dir, keys=other).send(
        a_message(communication_id=UUID(_ID))
    )
    done = dunwell.run("outbox", "show", _ID)
    assert (done.returncode, done.stdout) == (1, "")
