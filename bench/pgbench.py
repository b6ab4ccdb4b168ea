"""pgbench running the service's own two statements for a claim, with the same commits.

Values that differ from claim to claim are put in where the service puts them: the reference into
the JSON, the instant and the audit row's id beside it.
"""

import asyncio
import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec

from bench.captured import Statement
from bench.ground import Ground

_LOG = "pgbench_log"
_RATE = re.compile(r"^tps = ([0-9.]+)", re.MULTILINE)
_FAILED = re.compile(r"number of failed transactions: (\d+)")


@dataclass(frozen=True, slots=True)
class Run:
    """Transactions a second, and how long the slowest hundredth of them took at least."""

    rate: float
    p99_ms: float


async def run_pgbench(
    ground: Ground, statements: list[Statement], reference: str, *, clients: int, seconds: float
) -> Run:
    """`reference` is the text that each transaction makes its own."""
    variables: dict[str, str] = {"serial": "0"}
    script = [r"\set serial :serial + 1"]
    for number, statement in enumerate(statements):
        script.append(_render(statement, reference, f"s{number}", variables) + ";")
    path = ground.folder / "pgbench.sql"
    await asyncio.to_thread(path.write_text, "\n".join(script) + "\n")
    command = [
        str(ground.embedded.binaries / "pgbench"), "--no-vacuum", "--protocol=prepared",
        f"--client={clients}", "--jobs=2", f"--time={max(1, round(seconds))}", f"--file={path}",
        "--log", f"--log-prefix={ground.folder / _LOG}",
        "--host", str(ground.embedded.socket_folder), "--username=postgres",
        *(f"--define={name}={value}" for name, value in variables.items()), "postgres",
    ]  # fmt: skip
    rate = _read_rate(await _run(command))
    return Run(rate, await asyncio.to_thread(_read_p99, ground.folder))


async def _run(command: list[str]) -> str:
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    out, complaints = await process.communicate()
    if process.returncode != 0:
        raise RuntimeError(f"pgbench failed: {complaints.decode()[-2000:]}")
    return out.decode()


def _read_rate(report: str) -> float:
    rate, failed = _RATE.search(report), _FAILED.search(report)
    if rate is None or (failed is not None and int(failed.group(1))):
        raise RuntimeError(f"pgbench reports no clean rate: {report}")
    return float(rate.group(1))


def _read_p99(folder: Path) -> float:
    """From the log of transactions, whose third column is microseconds; removes it."""
    durations: list[int] = []
    for log in folder.glob(f"{_LOG}.*"):
        durations += [int(line.split()[2]) for line in log.read_text().splitlines()]
        log.unlink()
    durations.sort()
    return durations[len(durations) * 99 // 100] / 1000


def _render(statement: Statement, reference: str, prefix: str, variables: dict[str, str]) -> str:
    """The statement with its parameters as pgbench's variables and literals."""
    written = {
        number: _render_value(value, reference, f"{prefix}v{number}", variables)
        for number, value in enumerate(statement.values, start=1)
    }
    return re.sub(r"\$(\d+)", lambda found: written[int(found.group(1))], statement.sql)


def _render_value(value: Any, reference: str, name: str, variables: dict[str, str]) -> str:
    if isinstance(value, list | dict):
        pieces = msgspec.json.encode(value).decode().split(reference)
        variables |= {f"{name}_{place}": piece for place, piece in enumerate(pieces)}
        own = " || lpad(:client_id::text || '-' || :serial::text, 16, 'R') || "
        return f"({own.join(f':{name}_{place}::text' for place in range(len(pieces)))})"
    if isinstance(value, bytes):
        return rf"'\x{value.hex()}'::bytea"
    if isinstance(value, datetime):
        return "now()"
    if isinstance(value, UUID):
        return "uuidv7()"
    return str(value) if isinstance(value, int) else f"'{value}'"
