"""pgbench that stores the rows of a claim by plain INSERTs, with one commit for each claim. As in
the service, the ids and the reference number differ from claim to claim."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from bench.environment import Ground
from bench.stored_rows import Table

_LOG = "pgbench_log"
_RATE = re.compile(r"^tps = ([0-9.]+)", re.MULTILINE)
_NEXT_ID, _SAME_ID = (f"{each}('claims_claim_id_seq')" for each in ("nextval", "currval"))
_FAILED = re.compile(r"number of failed transactions: (\d+)")


@dataclass(frozen=True, slots=True)
class Run:
    """Transactions per second, and the 99th percentile of their durations."""

    rate: float
    p99_ms: float


async def run_pgbench(
    ground: Ground, tables: Sequence[Table], reference: str, *, clients: int, seconds: float
) -> Run:
    """`tables` are those of one claim. `reference` is the text that is different in each claim."""
    own = f"lpad(:client_id::text || '-' || :serial::text, {len(reference)}, 'R')"
    script = [r"\set serial :serial + 1", "BEGIN;"]
    script += [render_insert(each, reference, own) + ";" for each in tables]
    script.append("COMMIT;")
    path = ground.folder / "pgbench.sql"
    await asyncio.to_thread(path.write_text, "\n".join(script) + "\n")
    command = [
        str(ground.embedded.binaries / "pgbench"), "--no-vacuum", "--protocol=prepared",
        f"--client={clients}", "--jobs=2", f"--time={max(1, round(seconds))}", f"--file={path}",
        "--log", f"--log-prefix={ground.folder / _LOG}",
        "--host", str(ground.embedded.socket_folder), "--username=postgres",
        "--define=serial=0", "postgres",
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
    """Read the percentile from the log of transactions, whose third column is microseconds, and
    delete the log."""
    durations: list[int] = []
    for log in folder.glob(f"{_LOG}.*"):
        durations += [int(line.split()[2]) for line in log.read_text().splitlines()]
        log.unlink()
    durations.sort()
    return durations[len(durations) * 99 // 100] / 1000


def render_insert(table: Table, reference: str, own: str) -> str:
    """`table` has the rows of one claim, whose text `reference` is replaced by the expression
    `own`."""
    [row] = table.rows
    # The claim is the first row, and its new id is used by the other rows.
    claim_id = _NEXT_ID if table.name == "claims" else _SAME_ID
    values = {
        name: _render(value, reference, own) for name, value in row.items() if value is not None
    }
    if "claim_id" in values:
        values["claim_id"] = claim_id
    if "audit_id" in values:
        values["audit_id"] = "uuidv7()"
        values["details"] = f"jsonb_build_object('claimIds', jsonb_build_array({_SAME_ID}))"
    return f"INSERT INTO {table.name} ({', '.join(values)}) VALUES ({', '.join(values.values())})"


def _render(value: Any, reference: str, own: str) -> str:
    if value == reference:
        return own
    text = msgspec.json.encode(value).decode() if isinstance(value, dict) else str(value)
    return "'" + text.replace("'", "''") + "'"
