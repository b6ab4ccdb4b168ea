"""Uploaded files are parsed in a child process. A file that ends the child does not affect the next
one."""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator
from unittest.mock import ANY

import psutil
import pytest

from dunwell.core.files.inspection import Inspector
from dunwell.platform.errors import RateLimited, Unavailable, UnsupportedMediaType
from tests.support.children import end_all, find_children
from tests.support.files import a_noisy_jpeg, a_pdf, a_png_bomb, an_image


@pytest.fixture
async def inspector() -> AsyncIterator[Inspector]:
    inspector = Inspector(1)
    yield inspector
    await inspector.close()


@pytest.fixture(autouse=True)
async def end_other_children() -> None:
    await end_all("inspection_child")


def _children() -> list[psutil.Process]:
    return find_children("inspection_child")


async def test_the_child_returns_types_and_refusals(inspector: Inspector) -> None:
    assert await inspector.inspect(a_pdf()) == "application/pdf"
    assert await inspector.inspect(an_image("WEBP")) == "image/webp"
    with pytest.raises(UnsupportedMediaType, match="Files of this type are not accepted") as caught:
        await inspector.inspect(b"<html>")
    assert caught.value.details == {"allowed": ["application/pdf", "image/jpeg", ANY, ANY]}


async def test_one_child_serves_many_files(inspector: Inspector) -> None:
    files = [a_pdf(), an_image("JPEG"), an_image("PNG")] * 5
    found = await asyncio.gather(*(inspector.inspect(file) for file in files))
    assert found == ["application/pdf", "image/jpeg", "image/png"] * 5
    assert len(_children()) == 1


async def test_a_file_of_ten_megabytes_is_inspected(inspector: Inspector) -> None:
    with pytest.raises(UnsupportedMediaType, match="end mark"):
        await inspector.inspect(b"%PDF-" + os.urandom(10 * 1024 * 1024))


async def test_a_child_killed_between_files_is_replaced(inspector: Inspector) -> None:
    await inspector.inspect(a_pdf())
    (child,) = _children()
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert await inspector.inspect(a_pdf()) == "application/pdf"


async def test_a_file_that_takes_too_long_is_refused_and_the_next_one_is_read() -> None:
    inspector = Inspector(1, timeout_seconds=0.001)
    with pytest.raises(UnsupportedMediaType, match="too much time or memory"):
        await inspector.inspect(a_pdf())
    assert _children() == []
    await inspector.close()


async def test_a_cancelled_upload_ends_its_child(inspector: Inspector) -> None:
    await inspector.inspect(a_pdf())
    task = asyncio.create_task(inspector.inspect(a_png_bomb(7000, 8000)))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    assert await inspector.inspect(an_image("PNG")) == "image/png"


async def test_the_child_has_limits_and_no_environment(inspector: Inspector) -> None:
    await inspector.inspect(a_pdf())
    (child,) = _children()
    assert child.rlimit(psutil.RLIMIT_AS)[0] == 768 * 1024 * 1024
    assert child.rlimit(psutil.RLIMIT_FSIZE)[0] == 0
    assert 0 < child.rlimit(psutil.RLIMIT_CPU)[0] <= 30
    assert "DUNWELL_SECRET_KEY" not in child.environ()
    assert "HOME" not in child.environ()


async def test_forty_pictures_of_one_merchant_do_not_delay_another_merchant() -> None:
    inspector, picture = Inspector(), a_noisy_jpeg()
    # Start both children before the test.
    await asyncio.gather(*(inspector.clean(a_pdf(), merchant) for merchant in (1, 2)))
    mine = [asyncio.create_task(inspector.clean(picture, 1)) for _ in range(40)]
    await asyncio.sleep(0)

    for _ in range(10):
        await inspector.clean(a_pdf(), 2)

    assert sum(each.done() for each in mine) <= 10
    assert (await mine[0]).content_type == "image/jpeg"
    for each in mine:
        each.cancel()
    await asyncio.gather(*mine, return_exceptions=True)
    await inspector.close()


async def test_the_number_of_waiting_files_of_a_merchant_is_limited() -> None:
    inspector = Inspector()
    asked = [asyncio.create_task(inspector.clean(a_pdf(), 1)) for _ in range(66)]
    outcomes = await asyncio.gather(*asked, return_exceptions=True)
    refused = [each for each in outcomes if isinstance(each, RateLimited)]
    assert [each.retry_after for each in refused] == [5]
    await inspector.close()


async def test_closing_ends_the_children_and_refuses_further_files(
    inspector: Inspector,
) -> None:
    await inspector.inspect(a_pdf())
    await inspector.close()
    assert _children() == []
    with pytest.raises(Unavailable):
        await inspector.inspect(a_pdf())
    assert _children() == []
