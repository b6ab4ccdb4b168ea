"""How long one request can block the event loop of a web process, for bodies of many shapes.

The application runs in this process. Its own processor time is measured, so that a busy machine
does not matter. While a body is processed, a ticker records the longest time between two of its
turns.
"""

import asyncio
import random
import time
from collections.abc import Iterator

import httpx
import msgspec

from bench.claims import make_submission
from bench.environment import Ground
from bench.line import Line
from bench.merchant import BenchMerchant, make_merchant, obtain_token
from bench.rounds import Scale
from dunwell.interfaces.wiring import open_web

_MEGABYTE = 1024 * 1024
_MOST = 10 * _MEGABYTE
_ITEM = b'{"reference":"a","type":"PRIMARY","value":"1"}'
_HEAD = b'{"referenceNumber":"H-%d","currency":"EUR","debtorLastName":"M","items":['
_SEED = 20_261_122


async def measure(ground: Ground, scale: Scale) -> list[Line]:
    bench = await make_merchant(ground, "Messages", is_live=True)
    token = await obtain_token(bench)
    bodies = dict(_list_bodies())
    async with open_web(bench.resources) as web:
        transport = httpx.ASGITransport(web.app)
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        async with httpx.AsyncClient(
            transport=transport, base_url="http://bench", headers=headers, timeout=300
        ) as client:
            await _post(client, bench, b"[]")
            held = {}
            for name, body in bodies.items():
                held[name] = max([await _hold(client, bench, body) for _ in range(scale.rounds)])
    for name, milliseconds in sorted(held.items(), key=lambda each: -each[1])[:5]:
        print(f"  {milliseconds:5.0f} ms  {name}")
    worst = max(held, key=lambda name: held[name])
    return [
        Line(
            work=f"longest hold of the event loop over {len(bodies)} bodies; the worst: {worst}",
            unit="ms", ours=[held[worst]], at_most=100,
        )
    ]  # fmt: skip


async def _hold(client: httpx.AsyncClient, bench: BenchMerchant, body: bytes) -> float:
    """Return the longest blocking in milliseconds of processor time."""
    longest, is_over = 0.0, False

    async def tick() -> None:
        nonlocal longest
        since = time.process_time()
        while not is_over:
            await asyncio.sleep(0)
            now = time.process_time()
            longest, since = max(longest, now - since), now

    ticking = asyncio.create_task(tick())
    await _post(client, bench, body)
    is_over = True
    await ticking
    return longest * 1000


async def _post(client: httpx.AsyncClient, bench: BenchMerchant, body: bytes) -> None:
    path = f"/api/merchants/{bench.merchant.merchant_id}/claims"
    answer = await client.post(path, content=body)
    assert answer.status_code < 500, (answer.status_code, body[:80])


def _list_bodies() -> Iterator[tuple[str, bytes]]:
    full = [make_submission(80_000_000 + n) for n in range(1_000)]
    yield "1,000 plain claims", msgspec.json.encode(full)
    items = b",".join([_ITEM] * 100)
    yield (
        "1,000 claims of 100 items",
        b"[" + b",".join(_claim(n, items) for n in range(1_000)) + b"]",
    )
    yield "a claim of 75 kB of {}", b"[" + _claim(0, b",".join([b"{}"] * 25_000)) + b"]"
    yield "a claim of 300 kB of {}", b"[" + _claim(0, b",".join([b"{}"] * 100_000)) + b"]"
    yield (
        "1,000 claims of 100 {}",
        b"[" + b",".join(_claim(n, b",".join([b"{}"] * 100)) for n in range(1_000)) + b"]",
    )
    keys = b",".join(b'"unknown%d":1' % n for n in range(80_000))
    yield "1.1 MB of unknown keys", b"[{" + keys + b"}]"
    yield (
        "1,000 claims of 150 unknown keys",
        b"["
        + b",".join(
            b"{" + b",".join(b'"u%d":1' % n for n in range(150)) + b"}" for _ in range(1_000)
        )
        + b"]",
    )
    for name, element in (("{}", b"{}"), ("[]", b"[]"), ("1", b"1"), ('""', b'""')):
        count = _MOST // (len(element) + 1) - 1
        yield f"10 MB of {name}", b"[" + b",".join([element] * count) + b"]"
    yield "10 MB of one text", b'[{"debtorName":"' + b"a" * (_MOST - 100) + b'"}]'
    yield "10 MB of one key", b'[{"' + b"a" * (_MOST - 100) + b'":1}]'
    yield "10 MB of brackets", b"[" * (_MOST - 1)
    yield "10 MB of twice the same key", b"[{" + b",".join([b'"email":"a@b.c"'] * 600_000) + b"}]"
    yield "10 MB of escapes", b'["' + b"\\u00e4" * (_MOST // 6 - 2) + b'"]'
    chance = random.Random(_SEED)
    alphabet = [b"{", b"}", b"[", b"]", b",", b":", b'"a"', b"1", b"null", _ITEM, b'"\\"', b" "]
    for n in range(8):
        weights = [chance.random() for _ in alphabet]
        pieces = chance.choices(alphabet, weights, k=400_000)
        yield f"noise {n}", b"[" + b"".join(pieces)[: _MOST - 2] + b"]"


def _claim(n: int, items: bytes) -> bytes:
    return _HEAD % n + items + b"]}"
