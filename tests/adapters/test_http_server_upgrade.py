"""Clients that request an upgrade to HTTP/2 (h2c) get HTTP/1.1 responses and lose no body."""

import asyncio
from pathlib import Path

import pytest

from dunwell.platform.http.server import ServerLimits
from tests.support.limited_server import BodyKeeper, served_bodies
from tests.support.tools import find_tool

_INSIDE = b"GET /inside HTTP/1.1\r\nHost: x\r\n\r\n"
_UPGRADE = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMA\r\n"
_COUNTED = b"POST / HTTP/1.1\r\nHost: x\r\n%bContent-Length: %d\r\n\r\n%b" % (
    _UPGRADE, len(_INSIDE), _INSIDE,
)  # fmt: skip
_CHUNKED = (
    b"POST / HTTP/1.1\r\nHost: x\r\n%bTransfer-Encoding: chunked\r\n\r\n"
    b"%x\r\n%b\r\n0\r\nTrailer: 1\r\n\r\n" % (_UPGRADE, len(_INSIDE), _INSIDE)
)
_LAST = b"PUT / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
_PROGRAM = Path(__file__).with_name("Upload.java")


async def _run(*command: str) -> str:
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    out, error = await asyncio.wait_for(process.communicate(), 90)
    assert process.returncode == 0, error.decode()
    return out.decode()


@pytest.mark.parametrize("chunked", [(), ("--header", "Transfer-Encoding: chunked")])
async def test_curl_with_http2_sends_its_body(chunked: tuple[str, ...], tmp_path: Path) -> None:
    curl = find_tool("curl")
    file = tmp_path / "body"
    file.write_bytes(b"x" * 300_000)
    async with served_bodies(ServerLimits()) as served:
        out = await _run(
            curl, "--silent", "--http2", "--data-binary", f"@{file}", *chunked,
            "--write-out", " %{http_code} %{http_version}", f"http://127.0.0.1:{served.port}/",
        )  # fmt: skip
    assert out == "ok 200 1.1"
    assert served.bodies == [b"x" * 300_000]


async def test_the_java_client_sends_its_bodies() -> None:
    find_tool("javac")  # A program that is given as source also needs the compiler.
    java = find_tool("java")
    bodies = ["short", "GET /inside HTTP/1.1\r\nHost: x\r\n\r\n", "y" * 20_000]
    async with served_bodies(ServerLimits()) as served:
        out = await _run(java, str(_PROGRAM), f"http://127.0.0.1:{served.port}/", *bodies)
    assert out.split() == ["200"] * 3
    assert served.bodies == [each.encode() for each in bodies]


async def _send(served: BodyKeeper, *pieces: bytes) -> bytes:
    """Send each piece in its own packet, and return everything that is received."""
    reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
    for piece in pieces:
        writer.write(piece)
        await writer.drain()
        await asyncio.sleep(0)
    answer = await asyncio.wait_for(reader.read(), 10)
    writer.close()
    return answer


@pytest.mark.parametrize("first", [_COUNTED, _CHUNKED], ids=["counted", "chunked"])
async def test_the_body_of_an_upgrade_is_never_read_as_a_request(first: bytes) -> None:
    stream = first + first + _LAST
    async with served_bodies(ServerLimits()) as served:
        for cut in range(1, len(stream)):
            served.bodies.clear()
            served.methods.clear()
            answer = await _send(served, stream[:cut], stream[cut:])
            assert answer.count(b"HTTP/1.1 200 OK") == 3, cut
            assert served.bodies == [_INSIDE, _INSIDE, b""], cut
            assert served.methods == ["POST", "POST", "PUT"], cut


@pytest.mark.parametrize("first", [_COUNTED, _CHUNKED], ids=["counted", "chunked"])
async def test_an_upgrade_that_arrives_byte_by_byte_is_read_completely(first: bytes) -> None:
    async with served_bodies(ServerLimits()) as served:
        answer = await _send(served, *(bytes([each]) for each in first + _LAST))
    assert answer.count(b"HTTP/1.1 200 OK") == 2
    assert served.bodies == [_INSIDE, b""]
