"""Status reports of a print service: late, repeated, unordered, broken or about unknown letters."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import msgspec
import pytest

from dunwell.adapters.channels.folder.channel import LocalFolder
from dunwell.contact.sending.batches.read_statuses import StatusFileReader
from dunwell.contact.sending.batches.status_file import MAX_STATUS_FILE_BYTES, MAX_STATUS_LINES
from dunwell.contact.sending.batches.store import lease_status_files
from dunwell.platform.clock import MovableClock
from dunwell.platform.database.leases import Lease
from dunwell.platform.heartbeat import LEASE
from dunwell.platform.resources import Resources
from tests.support.letter_harness import LetterHarness, a_harness_with_a_folder, write_status
from tests.support.recorded_statements import a_counted_database

_REPORTS = """
SELECT state, cause, outcome FROM delivery_reports WHERE $1 > 0 ORDER BY received_at,
    provider_message_id
"""
_FILES = "SELECT name, outcome, reports, reason FROM letter_status_files WHERE $1 > 0 ORDER BY name"
_READERS = "SELECT provider FROM letter_status_readers WHERE $1 > 0"
_SUPPRESSED = "SELECT channel, reason FROM suppressions WHERE merchant_id = $1"
_NINE, _TEN, _NOON = (f"2026-03-04T{hour}:00:00Z" for hour in ("09", "10", "12"))


@pytest.fixture
async def letter_harness(
    resources: Resources, clock: MovableClock, tmp_path: Path
) -> AsyncIterator[LetterHarness]:
    letter_harness = await a_harness_with_a_folder(resources, clock, tmp_path / "letters")
    await letter_harness.create("A-1")
    yield letter_harness
    await letter_harness.adapter.close()


async def reports(letter_harness: LetterHarness) -> list[tuple[object, ...]]:
    return [tuple(row) for row in await letter_harness.harness.rows(_REPORTS)]


async def test_the_statuses_of_a_letter_are_recorded(letter_harness: LetterHarness) -> None:
    (reference,) = letter_harness.references()
    reported = [(reference, "accepted", _NINE), (reference, "printed", _TEN)]
    letter_harness.write_status_file("1.csv", write_status(*reported))
    assert await letter_harness.read_statuses() == 1
    assert await letter_harness.items() == [("WAITING", "ACCEPTED", None, "PRINTED", False)]
    posted = {"reference": reference, "state": "posted", "time": _NOON}
    letter_harness.write_status_file("2.json", msgspec.json.encode([posted]))
    await letter_harness.read_statuses()
    assert await letter_harness.items() == [("WAITING", "ACCEPTED", None, "POSTED", True)]
    read = {name.partition("-")[2] for name in letter_harness.files("status/done")}
    assert read == {"1.csv", "2.json"}
    assert letter_harness.files("status") == []


async def test_a_returned_letter_suppresses_its_address_and_starts_the_fallback(
    letter_harness: LetterHarness,
) -> None:
    """The fallback is started once, however often the return is reported."""
    (reference,) = letter_harness.references()
    for name in ("1.csv", "2.csv", "3.csv"):
        letter_harness.write_status_file(name, write_status((reference, "returned", _NOON)))
        await letter_harness.read_statuses()
    (item,) = await letter_harness.items()
    assert item[1:3] == ("FAILED", "returned by the post")
    assert [tuple(row) for row in await letter_harness.harness.rows(_SUPPRESSED)] == [
        ("LETTER", "BOUNCE")
    ]
    assert [len(each.sent) for each in letter_harness.harness.channels] == [1, 0, 0]
    assert await reports(letter_harness) == [("RETURNED", "ADDRESS", "FAILED")]


async def test_the_order_of_status_reports_does_not_matter(letter_harness: LetterHarness) -> None:
    (reference,) = letter_harness.references()
    reported = [(reference, "posted", _NOON), (reference, "printed", _TEN)]
    letter_harness.write_status_file("1.csv", write_status(*reported))
    letter_harness.write_status_file("2.csv", write_status((reference, "accepted", _NINE)))
    await letter_harness.read_statuses()
    assert await letter_harness.items() == [("WAITING", "ACCEPTED", None, "POSTED", True)]


async def test_reports_about_unknown_letters_are_kept_without_effect(
    letter_harness: LetterHarness,
) -> None:
    (reference,) = letter_harness.references()
    forged = reference[:-1] + ("a" if reference[-1] != "a" else "b")
    letter_harness.write_status_file(
        "1.csv", write_status((forged, "returned", _NOON), ("X-1", "posted", _NOON))
    )
    await letter_harness.read_statuses()
    assert [row[2] for row in await reports(letter_harness)] == ["UNMATCHED", "UNMATCHED"]
    assert await letter_harness.items() == [("WAITING", "ACCEPTED", None, None, False)]


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("1.csv", "{0},lost,2026-03-04T12:00:00Z\n", "line 2 has an unknown state"),
        ("1.csv", "{0},posted,yesterday\n", "line 2 has no valid time"),
        ("1.csv", "{0},posted,9999-12-31T23:59:59-14:00\n", "line 2 has no valid time"),
        ("1.csv", ",posted,2026-03-04T12:00:00Z\n", "line 2 lacks reference"),
        ("1.csv", "{0},posted\n", "line 2 lacks time"),
        ("1.csv", "{0},posted,2026-03-04T12:00:00Z,x\n", "line 2 has more columns than the header"),
        ("1.csv", '{0},"posted\n', "it is not valid CSV"),
        (
            "1.csv",
            "a\x00b,posted,2026-03-04T12:00:00Z\n",
            "line 2 has control characters in reference",
        ),
        ("1.txt", "", "its name must end in one of .csv, .json"),
        ("1.csv", "x" * MAX_STATUS_FILE_BYTES, f"it has more than {MAX_STATUS_FILE_BYTES} bytes"),
        ("1.csv", "{0},posted,2026-03-04T12:00:00Z\n" * 20_001, "it has more than 20000 lines"),
    ],
)
async def test_a_broken_status_file_is_refused_as_a_whole(
    letter_harness: LetterHarness, name: str, content: str, reason: str
) -> None:
    (reference,) = letter_harness.references()
    good = write_status((reference, "returned", _NOON))
    letter_harness.write_status_file(name, good + content.replace("{0}", reference))
    await letter_harness.read_statuses()
    assert await reports(letter_harness) == []
    assert await letter_harness.items() == [("WAITING", "ACCEPTED", None, None, False)]
    assert [tuple(row) for row in await letter_harness.harness.rows(_FILES)] == [
        (name, "REFUSED", 0, reason)
    ]
    assert [each.partition("-")[2] for each in letter_harness.files("status/refused")] == [name]
    assert await letter_harness.read_statuses() == 0


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("1.json", b"{}"), ("1.json", b"[1]"), ("1.json", b"[" * 100_000),
        ("1.csv", b"\xff\xfe\x00"), ("1.csv", b""), ("1.csv", b"a;b\n"), ("1.json", b""),
    ],
)  # fmt: skip
async def test_a_file_that_is_no_status_file_is_refused(
    letter_harness: LetterHarness, name: str, content: bytes
) -> None:
    letter_harness.write_status_file(name, content)
    await letter_harness.read_statuses()
    ((_, outcome, count, _),) = [tuple(row) for row in await letter_harness.harness.rows(_FILES)]
    assert (outcome, count) == ("REFUSED", 0)


async def test_a_file_that_is_still_being_written_is_ignored(letter_harness: LetterHarness) -> None:
    (reference,) = letter_harness.references()
    letter_harness.write_status_file("1.csv.part", write_status((reference, "posted", _NOON)))
    assert await letter_harness.read_statuses() == 0
    assert letter_harness.files("status") == ["1.csv.part"]


@pytest.mark.parametrize("name", ["0" * 247 + ".csv", "0\udcff.csv"])
async def test_files_with_long_or_undecodable_names_are_read_like_others(
    letter_harness: LetterHarness, name: str
) -> None:
    (reference,) = letter_harness.references()
    letter_harness.write_status_file(name, write_status((reference, "printed", _TEN)))
    letter_harness.write_status_file("1.csv", write_status((reference, "posted", _NOON)))
    assert await letter_harness.read_statuses() == 2
    assert await letter_harness.items() == [("WAITING", "ACCEPTED", None, "POSTED", True)]
    assert letter_harness.files("status") == []
    assert len(letter_harness.files("status/done")) == 2


async def test_a_file_that_cannot_be_moved_does_not_hold_up_others(
    letter_harness: LetterHarness,
) -> None:
    """For example because the service allows us only to read its folder."""
    (reference,) = letter_harness.references()
    letter_harness.write_status_file("1.csv", write_status((reference, "printed", _TEN)))
    letter_harness.write_status_file("2.csv", write_status((reference, "posted", _NOON)))
    letter_harness.write_status_file("done", "a file where a folder is to be")
    # The obstacle: no file can be marked as done, and no further round follows at once.
    assert await letter_harness.read_statuses() == 1
    assert await letter_harness.items() == [("WAITING", "ACCEPTED", None, "POSTED", True)]


async def test_a_large_file_is_saved_in_batches(letter_harness: LetterHarness) -> None:
    """Also, the latest status of a letter wins, wherever it is in the file."""
    (reference,) = letter_harness.references()
    others = [(f"X-{number}", "printed", _TEN) for number in range(MAX_STATUS_LINES - 4)]
    later = [(reference, "accepted", _NOON), (reference, "posted", _NOON)]
    reported = [*later, *others, (reference, "accepted", _NINE), (reference, "printed", _TEN)]
    letter_harness.write_status_file("1.csv", write_status(*reported))
    harness = letter_harness.harness
    async with a_counted_database(harness.resources, harness.clock, 2) as (counted, statements):
        assert (
            await StatusFileReader(counted, lambda: letter_harness.delivery_providers).run_once()
            == 1
        )
        sent = await statements.take()
    assert sum("INSERT INTO delivery_reports" in each for each in sent) == MAX_STATUS_LINES // 1_000
    assert sum("UPDATE letter_batch_items" in each for each in sent) == 1
    [count] = await harness.rows("SELECT count(*) FROM delivery_reports WHERE $1 > 0")
    assert count["count"] == MAX_STATUS_LINES
    assert (await letter_harness.items())[0][3] == "POSTED"


class ObservedLetterFolder(LocalFolder):
    """A folder in which a second worker looks while the first reads a file."""

    def __init__(self, letter_harness: LetterHarness) -> None:
        super().__init__(letter_harness.letter_folder)
        self.post = letter_harness
        self.second: list[int] = []

    async def read(self, name: str) -> bytes:
        self.second.append(await self.post.read_statuses())
        return await super().read(name)


async def test_one_worker_at_a_time_reads_the_files_of_a_provider(
    letter_harness: LetterHarness,
) -> None:
    (reference,) = letter_harness.references()
    letter_harness.write_status_file("1.csv", write_status((reference, "posted", _NOON)))
    letter_folder = ObservedLetterFolder(letter_harness)
    provider = replace(letter_harness.adapter.print_provider, letter_folder=letter_folder)
    reader = StatusFileReader(letter_harness.harness.resources, lambda: {"post": provider})
    assert await reader.run_once() == 1
    assert letter_folder.second == [0]
    assert await reader.run_once() == 0
    assert await letter_harness.harness.rows(_READERS) == []


async def test_the_files_of_a_dead_reader_are_read_after_its_lease_expires(
    letter_harness: LetterHarness,
) -> None:
    clock = letter_harness.harness.clock
    letter_harness.write_status_file("1.csv", write_status())
    async with letter_harness.harness.resources.database.transaction() as tx:
        dead = Lease(UUID(int=1), clock.now() + LEASE)
        assert await lease_status_files(tx, "post", dead, clock.now())
    clock.advance(LEASE - timedelta(microseconds=1))
    assert await letter_harness.read_statuses() == 0
    clock.advance(timedelta(microseconds=1))
    assert await letter_harness.read_statuses() == 1
