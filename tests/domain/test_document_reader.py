"""Parsing a slow document delays only the request that sent it."""

import asyncio
import threading
from collections.abc import AsyncIterator

import pytest

from dunwell.platform.children.document_reader import DocumentReader
from dunwell.platform.text.yaml_document import MAX_DEPTH, MAX_PARTS, InvalidDocument, parse_yaml
from tests.support.children import end_all, find_children

_ONE_MEGABYTE = 1_000_000


@pytest.fixture
async def documents() -> AsyncIterator[DocumentReader]:
    documents = DocumentReader()
    yield documents
    await documents.close()


async def test_one_document_at_a_time_is_parsed_while_others_are_answered(
    documents: DocumentReader,
) -> None:
    is_over, threads = threading.Event(), set[int]()

    def make(value: str) -> str:
        threads.add(threading.get_ident())
        assert is_over.wait(30)
        return value

    reading = [asyncio.create_task(documents.read(text, text, make)) for text in "abcdef"]
    async with asyncio.timeout(20):
        while not threads:  # noqa: ASYNC110 - no event signals this
            await asyncio.sleep(0.01)
    is_over.set()

    assert await asyncio.gather(*reading) == [*"abcdef"]
    assert len(threads) == 1
    assert threads != {threading.get_ident()}


@pytest.mark.parametrize(
    "text",
    [
        "[" + "a," * (_ONE_MEGABYTE // 2) + "]",
        "- a\n" * (_ONE_MEGABYTE // 4),
        "[" + "{}," * (_ONE_MEGABYTE // 3) + "]",
        "".join(f"k{number}: v\n" for number in range(_ONE_MEGABYTE // 11)),
        "[" * 5_000,
        "a: " * 1 + "{a: " * 5_000,
    ],
    ids=["flow list", "list", "maps", "map", "deep lists", "deep maps"],
)
async def test_a_megabyte_of_small_parts_is_refused_within_the_limits(
    documents: DocumentReader, text: str
) -> None:
    await end_all("yaml_child")
    with pytest.raises(InvalidDocument, match="more than"):
        await documents.read(text, "somebody", lambda value: value)
    (child,) = find_children("yaml_child")
    used = child.cpu_times()
    assert used.user + used.system < 3
    assert child.memory_info().rss < 150 * 1024 * 1024


def test_the_largest_documents_are_parsed() -> None:
    widest = "[" + "a," * (MAX_PARTS - 1) + "]"
    assert len(parse_yaml(widest)) == MAX_PARTS - 1
    assert parse_yaml("[" * MAX_DEPTH + "]" * MAX_DEPTH)
    with pytest.raises(InvalidDocument, match=r"more than 100,000 values and keys\."):
        parse_yaml(widest.replace("]", "a]"))
    with pytest.raises(InvalidDocument, match=r"nested more than 100 levels deep\."):
        parse_yaml("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1))


async def test_values_from_the_child_process_are_the_same_as_in_this_process(
    documents: DocumentReader,
) -> None:
    text = f"a: [1.5, {'9' * 30}, null, true, ü]\nb: |\n  x\n  y\n"
    assert await documents.read(text, 1, lambda value: value) == parse_yaml(text)
    assert await documents.list_lines(text, [["b"], ["a", 1], ["c"]], 1) == [2, 1, 1]
    with pytest.raises(InvalidDocument, match="Line 2, column 1"):
        await documents.read("a: 1\na: 2", 1, lambda value: value)
