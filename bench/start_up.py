"""How long `dunwell up` takes on an existing data folder."""

import asyncio
import os
import shutil
import sys
import time
from pathlib import Path

from bench.children import find_free_port
from bench.environment import Ground
from bench.line import Line
from bench.rounds import Scale


async def measure(ground: Ground, scale: Scale) -> list[Line]:
    folder = ground.folder / "up"
    first = await _start(folder)
    again = [await _start(folder) for _ in range(scale.rounds)]
    await asyncio.to_thread(shutil.rmtree, folder)
    return [
        Line(work="dunwell up on a new folder, until it is ready", unit="s", ours=[first]),
        Line(work="dunwell up on an existing folder", unit="s", ours=again, at_most=3),
    ]


async def _start(folder: Path) -> float:
    """Start `dunwell up`, stop it once it reports that it is ready, and return the seconds until
    then."""
    environment = {name: value for name, value in os.environ.items() if "DUNWELL_" not in name}
    started = time.perf_counter()
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "dunwell", "up", "--data-dir", str(folder),
        "--port", str(find_free_port()), env=environment,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    line = await process.stdout.readline()
    seconds = time.perf_counter() - started
    if process.returncode is None:
        process.terminate()
    _, complaints = await process.communicate()
    if not line.startswith(b"ready"):
        raise RuntimeError(f"dunwell up is not ready: {complaints.decode()[-1000:]}")
    return seconds
