"""The outbox simulates failures for certain addresses, only in sandboxes and development."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from dunwell.accounts.merchants.configuration import Channel
from dunwell.adapters.channels.outbox.channel import (
    Behaviour,
    OutboxEmail,
    OutboxSms,
    find_behaviour,
)
from dunwell.contact.sending.channel import Accepted, Permanent, Temporary
from tests.support.messages import a_message

_DYING = """
import asyncio, sys
from pathlib import Path
from dunwell.adapters.channels.outbox.channel import OutboxEmail
from tests.support.messages import a_message
outbox = OutboxEmail(Path(sys.argv[1]), is_development=True)
print(asyncio.run(outbox.send(a_message(recipient="ada+die@example.org"))))
"""


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.parametrize(
    ("channel", "recipient", "behaviour"),
    [
        ("EMAIL", "ada+refuse@example.org", Behaviour.REFUSE),
        ("EMAIL", "ada+fail-later@example.org", Behaviour.FAIL_LATER),
        ("EMAIL", "ada+hang@example.org", Behaviour.HANG),
        ("EMAIL", "fail@example.org", None),
        ("EMAIL", "ada@example.org+fail", None),
        ("SMS", "+4915112000001", Behaviour.REFUSE),
        ("SMS", "+4915112000002", Behaviour.FAIL),
        ("SMS", "+4915112000003", Behaviour.FAIL_LATER),
        ("SMS", "+4915112000004", Behaviour.HANG),
        ("SMS", "+4915112000005", Behaviour.DIE),
        ("SMS", "+4915112345678", None),
        ("LETTER", "Ada\n+fail\nKöln", Behaviour.FAIL),
        ("LETTER", "Ada +fail-later\nStraße 1\nKöln", Behaviour.FAIL_LATER),
        ("LETTER", "Ada\nStraße 1\nKöln", None),
    ],
)
def test_the_address_selects_the_behaviour(
    channel: Channel, recipient: str, behaviour: Behaviour | None
) -> None:
    found = find_behaviour(channel, recipient, is_sandbox=False, is_development=True)
    assert found == behaviour
    assert find_behaviour(channel, recipient, is_sandbox=False, is_development=False) is None


@pytest.mark.parametrize(("number", "is_told"), [(2, True), (4, False), (5, False)])
def test_a_sandbox_in_production_cannot_end_the_process(number: int, is_told: bool) -> None:
    recipient = f"+4915112{number:06}"
    found = find_behaviour("SMS", recipient, is_sandbox=True, is_development=False)
    assert (found is not None) == is_told


async def test_a_refused_message_is_not_written(tmp_path: Path) -> None:
    outbox = OutboxSms(tmp_path, is_development=True)
    assert await outbox.send(a_message(recipient="+4915112000001")) == Temporary(60)
    failed = await outbox.send(a_message(recipient="+4915112000002"))
    assert failed == Permanent("The outbox simulated a failure.")
    assert not _files(tmp_path)


async def test_a_hanging_recipient_gets_no_outcome(tmp_path: Path) -> None:
    outbox = OutboxSms(tmp_path, is_development=True)
    sending = asyncio.create_task(outbox.send(a_message(recipient="+4915112000004")))
    done, _ = await asyncio.wait([sending], timeout=0.01)
    assert not done
    sending.cancel()


async def test_addresses_of_live_merchants_select_no_behaviour(tmp_path: Path) -> None:
    outbox = OutboxEmail(tmp_path)
    assert await outbox.send(a_message(recipient="ada+die@example.org")) == Accepted()
    assert len(_files(tmp_path)) == 1


def test_the_process_dies_once_after_writing(tmp_path: Path) -> None:
    runs = [
        subprocess.run(
            [sys.executable, "-c", _DYING, str(tmp_path)],
            capture_output=True, text=True, check=False,
        )
        for _ in range(2)
    ]  # fmt: skip
    assert [run.returncode for run in runs] == [-9, 0]
    assert runs[1].stdout == "Accepted(answer=None)\n"
    assert len(list(tmp_path.rglob("*.eml"))) == 1
