"""The Nu HTML checker, a Java program that answers over HTTP and runs as long as the tests."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

_ROOT = Path(__file__).parents[2]
_PROGRAM = Path(
    os.environ.get("DUNWELL_VNU", _ROOT / "var/vnu/node_modules/vnu-jar/build/dist/vnu.jar")
)
_TIMEOUT_SECONDS = 60
_SEARCHED = "nu.validator.servlet"
# It runs only for minutes, so optimised compilation does not pay. Its schemas are deeply nested.
_SHORT_LIVED = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xss8m")


@dataclass(frozen=True, slots=True)
class HtmlChecker:
    http: httpx.AsyncClient

    async def list_faults(self, html: str) -> list[str]:
        """List every message about the document."""
        answer = await self.http.post(
            "/?out=json",
            content=html.encode(),
            headers={"Content-Type": "text/html; charset=utf-8"},
        )
        messages = answer.json()["messages"]
        return [f"{each['message']} {each.get('extract')}" for each in messages]


@asynccontextmanager
async def an_html_checker() -> AsyncIterator[HtmlChecker]:
    # This blocks the event loop, but before anything else runs on it.
    assert _PROGRAM.is_file(), f"{_PROGRAM} is missing; make e2e installs it"  # noqa: ASYNC240
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = await asyncio.create_subprocess_exec(
        "java", *_SHORT_LIVED, f"-D{_SEARCHED}.bind-address=127.0.0.1", "-cp", str(_PROGRAM),
        f"{_SEARCHED}.Main", str(port),
        stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=60) as http:
            checker = HtmlChecker(http)
            await _wait_for(checker)
            yield checker
    finally:
        process.terminate()
        await process.wait()


async def _wait_for(checker: HtmlChecker) -> None:
    async with asyncio.timeout(_TIMEOUT_SECONDS):
        while True:
            try:
                await checker.list_faults("<!DOCTYPE html><title>ready</title>")
            except httpx.TransportError:
                await asyncio.sleep(0.1)
            else:
                return
