"""Logos are converted by the service's existing child processes, in order."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from dunwell.contact.messages.letters.printer import LetterPrinter
from dunwell.core.files.inspection import Inspector
from dunwell.operations.merchant_file.logo import LogoMaker
from dunwell.platform.children.fair_queue import INTERACTIVE
from dunwell.platform.errors import RateLimited
from tests.support.children import end_all, find_children
from tests.support.files import an_image

_SVG = b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><path d="M0 0h9"/></svg>'


@pytest.fixture
async def maker() -> AsyncIterator[LogoMaker]:
    for module in ("inspection_child", "printer_child"):
        await end_all(module)
    inspector, printer = Inspector(1), LetterPrinter(1, limits=INTERACTIVE)
    yield LogoMaker(inspector, printer, "caller")
    await inspector.close()
    await printer.close()


async def test_many_concurrent_logos_use_one_child_of_each_kind(maker: LogoMaker) -> None:
    logos = await asyncio.gather(*(maker.make_logo(an_image("PNG", 40, 20)) for _ in range(5)))

    assert all(logo.png is not None for logo in logos)
    assert len(find_children("inspection_child")) == 1
    assert len(find_children("printer_child")) == 1


async def test_the_number_of_waiting_logos_of_a_caller_is_limited(maker: LogoMaker) -> None:
    most = 1 + INTERACTIVE.waiting_per_key
    asked = [asyncio.create_task(maker.make_logo(_SVG)) for _ in range(most + 1)]
    outcomes = await asyncio.gather(*asked, return_exceptions=True)
    assert sum(isinstance(each, RateLimited) for each in outcomes) == 1
