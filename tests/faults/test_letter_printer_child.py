"""Letters are printed by a child process. A letter that ends the child does not affect the next
one."""

import asyncio
import signal
from collections.abc import AsyncIterator

import psutil
import pytest

from dunwell.contact.messages.letters.printer import LetterPrinter, Unprintable
from dunwell.contact.messages.letters.sheet import Picture, encode_sheet
from tests.support.children import end_all, find_children
from tests.support.letters import a_letter

_SHEET = encode_sheet(a_letter().sheet)


@pytest.fixture
async def printer() -> AsyncIterator[LetterPrinter]:
    printer = LetterPrinter(1)
    yield printer
    await printer.close()


@pytest.fixture(autouse=True)
async def end_other_children() -> None:
    await end_all("printer_child")


def _children() -> list[psutil.Process]:
    return find_children("printer_child")


async def test_few_children_print_many_letters_without_blocking_other_work(
    printer: LetterPrinter,
) -> None:
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0)
            ticks += 1

    ticking = asyncio.create_task(tick())
    pdfs = await asyncio.gather(*(printer.print_sheet(_SHEET) for _ in range(20)))
    ticking.cancel()
    assert len(set(pdfs)) == 1
    assert len(_children()) == 1
    assert ticks > 20


async def test_a_child_killed_between_letters_is_replaced(printer: LetterPrinter) -> None:
    first = await printer.print_sheet(_SHEET)
    (child,) = _children()
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert await printer.print_sheet(_SHEET) == first


async def test_a_letter_whose_child_was_killed_is_printed_by_another(
    printer: LetterPrinter,
) -> None:
    first = await printer.print_sheet(_SHEET)
    (child,) = _children()
    child.suspend()
    task = asyncio.create_task(printer.print_sheet(_SHEET))
    await asyncio.sleep(0)
    child.send_signal(signal.SIGKILL)
    assert await task == first


async def test_a_letter_that_cannot_be_laid_out_is_refused_and_the_next_one_is_printed(
    printer: LetterPrinter,
) -> None:
    await printer.print_sheet(_SHEET)
    children = _children()
    no_text = Picture("image/svg+xml", b"\xff")
    for refused in (
        _SHEET.replace(b'"color":null', b'"color":"blue"'),
        b"{}",
        encode_sheet(a_letter(logo=no_text).sheet),
    ):
        with pytest.raises(Unprintable):
            await printer.print_sheet(refused)
    assert (await printer.print_sheet(_SHEET)).startswith(b"%PDF-")
    assert _children() == children


async def test_a_letter_that_takes_too_long_is_refused() -> None:
    printer = LetterPrinter(1, timeout_seconds=0.001)
    with pytest.raises(Unprintable):
        await printer.print_sheet(_SHEET)
    assert _children() == []
    await printer.close()


async def test_the_child_has_limits_no_environment_and_no_network(printer: LetterPrinter) -> None:
    await printer.print_sheet(_SHEET)
    (child,) = _children()
    assert child.rlimit(psutil.RLIMIT_AS)[0] == 1024 * 1024 * 1024
    assert child.rlimit(psutil.RLIMIT_FSIZE)[0] == 0
    assert 0 < child.rlimit(psutil.RLIMIT_CPU)[0] <= 40
    # The child can open nothing besides standard input, output and error.
    assert child.rlimit(psutil.RLIMIT_NOFILE) == (3, 3)
    assert child.num_fds() == 3
    assert "DUNWELL_SECRET_KEY" not in child.environ()
    assert "HOME" not in child.environ()
