"""The preview of a minor version over active claims: `dunwell workflow preview` as a process, and
the job that the portal creates for the worker."""

import asyncio
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from functools import partial

import msgspec

from bench.environment import Ground
from bench.line import Line
from bench.merchant import BenchMerchant, make_merchant, submit_claims
from bench.rounds import Scale, alternate
from dunwell.cases.assignment.rules import RuleSet
from dunwell.cases.assignment.rules_draft import publish_rules
from dunwell.core.workflows.change_workflow import get_workflow_by_name
from dunwell.core.workflows.definition import Definition
from dunwell.core.workflows.drafts.edit_draft import save_draft
from dunwell.core.workflows.drafts.publish_draft import publish_draft
from dunwell.operations.jobs.previews.draft_previews import (
    find_draft_preview,
    run_previews,
    start_preview,
)
from dunwell.platform.text.yaml_document import parse_yaml

_FEW, _MANY = 10_000, 100_000
# Claims that are created one by one start at different instants of the day. Spread these in the
# same way.
_SPREAD = "UPDATE claims SET due_at = due_at - claim_id % 864000 * interval '0.1 s'"
_BODY = (
    "{de: '{{ merchant.legalName }}, {{ merchant.email }}: zu {{ claim.referenceNumber }} "
    "sind {{ outstanding }} offen. {{ landing.url }}'}"
)
_DEFINITION = f"""
settings:
  languages: [de]
  contactHours: {{weekdays: [MON, TUE, WED, THU, FRI], from: "09:00", to: "18:00"}}
  holidays: {{country: DE, subdivision: HH}}
templates:
  reminder: {{EMAIL: {{subject: {{de: Erinnerung}}, body: {_BODY}}}, SMS: {{body: {_BODY}}}}}
steps:
  - {{id: 1, name: First, kind: COMMUNICATION, channel: EMAIL, template: reminder}}
  - {{id: 2, name: Wait, kind: WAIT, days: 7}}
  - {{id: 3, name: Fee, kind: FEE, type: DUNNING_FEE, value: "250"}}
  - {{id: 4, name: Second, kind: COMMUNICATION, channel: EMAIL, template: reminder}}
  - {{id: 5, name: Days, kind: WAIT, businessDays: 5}}
  - {{id: 6, name: Third, kind: COMMUNICATION, channel: EMAIL, template: reminder}}
  - {{id: 7, name: Last, kind: WAIT, days: 14}}
"""


@dataclass(frozen=True, slots=True)
class _Took:
    """`job_seconds` is the time of the worker's job, the other figures are those of the command."""

    seconds: float
    peak_mb: float
    job_seconds: float


# A process begins with the memory of its parent. The benchmark's own is large, so a small process
# starts the child and reports the child's memory (kB).
_TELL_MEMORY = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
sys.exit(done.returncode)
"""


async def measure(ground: Ground, scale: Scale) -> list[Line]:
    bench = await make_merchant(ground, None, is_live=True)
    await _prepare_workflow(bench)
    few, many = await alternate(
        scale,
        [partial(_preview, ground, bench, scale.rows(count)) for count in (_FEW, _MANY)],
    )
    return [
        Line(
            work=f"preview of a draft over {scale.rows(_MANY):,} running claims, 30 days", unit="s",
            ours=[each.seconds for each in many], at_most=120,
            beside=f"over {scale.rows(_FEW):,}", reference=[each.seconds for each in few],
        ),
        Line(
            work=f"preview as a job over {scale.rows(_MANY):,} running claims", unit="s",
            ours=[each.job_seconds for each in many], at_most=60,
            beside=f"over {scale.rows(_FEW):,}", reference=[each.job_seconds for each in few],
        ),
        Line(
            work="preview: highest memory of the command", unit="MB",
            ours=[each.peak_mb for each in many], beside=f"over {scale.rows(_FEW):,}",
            reference=[each.peak_mb for each in few],
            at_most=1.15 * max(each.peak_mb for each in few),
        ),
    ]  # fmt: skip


async def _prepare_workflow(bench: BenchMerchant) -> None:
    """Publish a version for new claims, and create a draft whose first contact is sent at any
    hour."""
    document = parse_yaml(_DEFINITION)
    async with bench.resources.database.transaction() as tx:
        work = bench.work(tx)
        await save_draft(work, "Preview", msgspec.convert(document, Definition))
        workflow = await get_workflow_by_name(tx, work.merchant_id, "Preview")
        version = await publish_draft(work, workflow.workflow_id)
        await publish_rules(work, RuleSet(default=version.workflow_id))
        document["steps"][0] |= {"send": "IMMEDIATE", "fallbacks": ["SMS"]}
        await save_draft(work, "Preview", msgspec.convert(document, Definition))


async def _preview(ground: Ground, bench: BenchMerchant, count: int) -> _Took:
    await ground.clear_claims()
    await submit_claims(bench, count)
    async with ground.database.connection() as connection:
        await connection.execute(_SPREAD)
    await ground.settle()
    job_seconds = await _run_job(bench, count)
    seconds, peak_mb = await asyncio.to_thread(_run_command, ground, bench.merchant.key, count)
    return _Took(seconds, peak_mb, job_seconds)


async def _run_job(bench: BenchMerchant, count: int) -> float:
    async with bench.resources.database.transaction() as tx:
        work = bench.work(tx)
        workflow = await get_workflow_by_name(tx, work.merchant_id, "Preview")
        assert workflow.draft_id is not None
        await start_preview(work, workflow.workflow_id, workflow.draft_id)
    started = time.perf_counter()
    await run_previews(bench.resources)
    seconds = time.perf_counter() - started
    async with bench.resources.database.connection() as connection:
        preview = await find_draft_preview(bench.work(connection), workflow.draft_id)
    assert preview is not None
    assert preview.effects is not None
    assert preview.effects.claims == count
    return seconds


def _run_command(ground: Ground, key: str, count: int) -> tuple[float, float]:
    """Return seconds and MB. The start of the command line counts, and its peak memory is what the
    system reports."""
    settings = {
        "DUNWELL_DATA_DIR": str(ground.settings.data_dir),
        "DUNWELL_DATABASE_URL": str(ground.settings.database_url),
    }
    words = ["workflow", "preview", key, "Preview", "--json"]
    answer = ground.folder / "preview.json"
    started = time.perf_counter()
    with answer.open("wb") as file:
        done = subprocess.run(
            [sys.executable, "-c", _TELL_MEMORY, sys.executable, "-m", "dunwell", *words],
            env={**os.environ, **settings}, stdout=file, stderr=subprocess.PIPE, check=True,
        )  # fmt: skip
    seconds = time.perf_counter() - started
    told = msgspec.json.decode(answer.read_bytes())
    assert told["nextContacts"]["claims"] == count
    assert told["outlook"]["claims"] == count
    return seconds, int(done.stderr.split()[-1]) / 1024
