"""A document that takes long to read keeps nobody waiting but whoever gives another."""

import asyncio
import threading

from dunwell.kit.requests import read_apart


async def test_others_are_answered_while_one_is_read_and_it_is_one_at_a_time() -> None:
    is_over, threads = threading.Event(), set[int]()

    def read(text: str) -> str:
        threads.add(threading.get_ident())
        assert is_over.wait(30)
        return text

    reading = [asyncio.create_task(read_apart(read, text)) for text in "abcdef"]
    # The loop comes this far only while it does not read itself.
    await asyncio.sleep(0)
    is_over.set()

    assert await asyncio.gather(*reading) == [*"abcdef"]
    assert len(threads) == 1
    assert threads != {threading.get_ident()}
