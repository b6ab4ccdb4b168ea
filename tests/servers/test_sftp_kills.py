"""The worker is killed with SIGKILL fifty times while letters go to a real OpenSSH server. The
files there, the letters in its manifests and the ledger agree."""

import asyncio
import random
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime

import msgspec

from dunwell.accounts.installation.delivery_providers import BatchSettings
from dunwell.adapters.channels.sftp.channel import SftpChannel
from dunwell.platform.clock import MovableClock, SystemClock
from dunwell.platform.resources import Resources
from tests.servers.sshd import Sshd
from tests.support.channels import ADDRESS
from tests.support.letter_harness import PROVIDER, LetterHarness, a_letter_harness
from tests.support.print_files import digest, list_files, list_letters, list_manifests
from tests.support.processes import a_process

_KILLS, _LETTERS = 50, 300
# Longer than any lease, including that of a batch.
_AHEAD_SECONDS = 200
_STATES = "SELECT state, count(*) FROM communications WHERE merchant_id = $1 GROUP BY state"
_ACCEPTED = """
SELECT provider_response FROM communications
WHERE merchant_id = $1 AND state = 'ACCEPTED' AND channel = 'LETTER'
"""
_OPEN = """
SELECT (SELECT count(*) FROM communications
        WHERE merchant_id = $1 AND state NOT IN ('ACCEPTED', 'UNKNOWN'))
     + (SELECT count(*) FROM letter_batch_items WHERE merchant_id = $1 AND state <> 'BATCHED')
     + (SELECT count(*) FROM letter_batches WHERE state <> 'RELEASED') AS count
"""


async def test_every_letter_is_printed_once_despite_fifty_kills(
    sshd: Sshd, resources: Resources
) -> None:
    real = replace(resources, clock=SystemClock())
    provider = sshd.provider(batch=BatchSettings(every_minutes=1, most=20))
    adapter = SftpChannel(PROVIDER, provider, sshd.secrets, real)
    letter_harness = await a_letter_harness(
        real, MovableClock(datetime.now(UTC)), adapter, sshd.letter_folder
    )
    await adapter.close()
    await letter_harness.harness.create(*(f"A-{n}" for n in range(_LETTERS)), address=ADDRESS)
    arguments = (str(sshd.folder / "letters_key"), msgspec.json.encode(provider).decode())
    rng = random.Random(19)
    for number in range(_KILLS):
        ahead = str(number * _AHEAD_SECONDS)
        with a_process(resources.settings, "tests.support.letter_process", ahead, *arguments):
            await asyncio.sleep(0.35 + rng.random() * 0.9)
    with a_process(
        resources.settings, "tests.support.letter_process",
        str(_KILLS * _AHEAD_SECONDS), *arguments,
    ):  # fmt: skip
        async with asyncio.timeout(300):
            while await _count_open(letter_harness):  # noqa: ASYNC110 - no event signals this
                await asyncio.sleep(0.2)
    await _compare(letter_harness)


async def _count_open(letter_harness: LetterHarness) -> int:
    (row,) = await letter_harness.harness.rows(_OPEN)
    count: int = row["count"]
    return count


async def _compare(letter_harness: LetterHarness) -> None:
    states = {row["state"]: row["count"] for row in await letter_harness.harness.rows(_STATES)}
    letters, manifests = (
        list_letters(letter_harness.letter_folder),
        list_manifests(letter_harness.letter_folder),
    )
    named = [each for manifest in manifests for each in manifest["letters"]]
    accepted = {row["provider_response"] for row in await letter_harness.harness.rows(_ACCEPTED)}
    print(f"\nkills: {_KILLS}, letters: {len(letters)}, manifests: {len(manifests)}, {states}")
    assert states == {"ACCEPTED": _LETTERS}
    assert Counter(each["reference"] for each in named) == Counter(accepted)
    assert {name.removesuffix(".pdf") for name in letters} == accepted
    proofs = {file["name"]: file["sha256"] for each in named for file in each["files"]}
    assert proofs == {name: digest(content) for name, content in letters.items()}
    assert len({each["head"]["batch"] for each in manifests}) == len(manifests)
    assert [
        name for name in list_files(letter_harness.letter_folder) if name.endswith(".json.part")
    ] == []
