"""The benchmark's own processes: web processes, the load on them, and a receiver of webhooks."""

import asyncio
import os
import socket
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

import msgspec

from bench.environment import Ground
from bench.http_load import Job, Load
from dunwell.interfaces.cli.listeners import is_ready

_HOST = "127.0.0.1"
_PATIENCE_SECONDS = 20.0


@asynccontextmanager
async def web_processes(ground: Ground, count: int) -> AsyncIterator[list[int]]:
    """Start `dunwell web` several times, each on its own port, as behind a load balancer."""
    ports = [find_free_port() for _ in range(count)]
    async with AsyncExitStack() as stack:
        for port in ports:
            await stack.enter_async_context(child("dunwell", _web_arguments(port), ground))
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while not all([await asyncio.to_thread(is_ready, _HOST, port) for port in ports]):
            if time.monotonic() > deadline:
                raise RuntimeError("dunwell web does not answer")
            await asyncio.sleep(0.05)
        yield ports


@asynccontextmanager
async def instant_receiver(ground: Ground) -> AsyncIterator[str]:
    """Start a receiver that responds to everything with 204, and yield its address."""
    port = find_free_port()
    async with child("bench.instant_receiver", [str(port)], ground) as process:
        assert process.stdout is not None
        await process.stdout.readline()
        yield f"http://{_HOST}:{port}/hook"


async def put_load(job: Job) -> Load:
    """Let another process send requests, and return its result."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.http_load",
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, _ = await process.communicate(msgspec.json.encode(job))
    load = msgspec.json.decode(out, type=Load)
    if load.failures:
        raise RuntimeError(f"{load.failures} requests failed, the first: {load.first_failure}")
    return load


def find_free_port() -> int:
    with socket.socket() as probe:
        probe.bind((_HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def _web_arguments(port: int) -> list[str]:
    return ["web", "--host", _HOST, "--port", str(port)]


@asynccontextmanager
async def child(
    module: str, arguments: Sequence[str], ground: Ground
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Start one of our processes on the benchmark's database. It is ended with the block."""
    environment = {name: value for name, value in os.environ.items() if "DUNWELL_" not in name} | {
        "DUNWELL_DATA_DIR": str(ground.settings.data_dir),
        "DUNWELL_DATABASE_URL": ground.embedded.url,
    }
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", module, *arguments, env=environment,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
        try:
            await asyncio.wait_for(process.wait(), _PATIENCE_SECONDS)
        except TimeoutError:
            process.kill()
            await process.wait()
