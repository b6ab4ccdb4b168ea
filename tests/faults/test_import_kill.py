"""Web processes, workers, commands and the database are killed at random while bank statements are
imported from a folder, by upload and by command, and while imports are cancelled and repeated.
Afterwards every entry is stored and matched once, and the money that is booked equals the money on
the statements, to the cent.
"""

import asyncio
import contextlib
import os
import random
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from dunwell.accounts.merchants.rights import Role
from dunwell.accounts.users.user import UserRoles
from dunwell.cases.statements.import_statements import cancel_import, import_next_file
from dunwell.cases.statements.matches.match_sets import match_all
from dunwell.cases.statements.store import StatementAccount
from dunwell.interfaces.cli.main import main
from dunwell.platform.clock import MovableClock, SystemClock
from dunwell.platform.database.database import Database, DatabaseAway
from dunwell.platform.database.migrate import migrate
from dunwell.platform.errors import Refusal
from dunwell.platform.resources import Resources
from tests.support.bank_files import IBAN, build_camt, build_entry, build_statement
from tests.support.clusters import Cluster, Servers
from tests.support.harness import Harness, a_harness
from tests.support.imports_process import CONNECTION, build_fetcher
from tests.support.portal import COOKIE, OWN_FORM, read_fields
from tests.support.processes import a_process, start
from tests.support.statements import StatementHarness, build_credit
from tests.support.users import a_new_user, build_sign_in_services, join
from tests.support.web_processes import Web, a_web

# `make faults FAULTS=long` kills 200 times.
_KILLS = int(os.environ.get("FAULT_KILLS", "12"))
_CLAIMS, _DAYS_OF_FILE, _ENTRIES_OF_DAY = 40, 4, 60
_FIRST_DAY = date(2026, 1, 1)
# A lease outlives its worker; nobody waits for it here.
_END_LEASES = """
UPDATE bank_files SET due_at = now()
WHERE merchant_id = $1 AND due_at > now()
RETURNING file_id
"""
_RUNNING = "SELECT file_id FROM bank_files WHERE merchant_id = $1 AND due_at IS NOT NULL"
_LEASED = "SELECT file_id FROM bank_files WHERE merchant_id = $1 AND due_at > now()"
_ENTRIES = """
SELECT bank_reference, amount_cents
FROM bank_entries
WHERE merchant_id = $1 AND status = 'BOOK'
ORDER BY bank_reference
"""
# What is booked for each claim, and what the matches say.
_BOOKED = """
SELECT c.reference_number, sum(p.amount_cents)::bigint AS cents, count(*) AS payments
FROM payments p JOIN claims c ON c.merchant_id = $1 AND c.claim_id = p.claim_id
WHERE p.merchant_id = $1
GROUP BY c.reference_number
"""
_NOT_MATCHED_ONCE = """
SELECT t.entry_id, t.state, t.matched_cents, count(m.match_id) AS matches
FROM bank_transactions t
LEFT JOIN bank_matches m
    ON m.merchant_id = $1 AND m.entry_id = t.entry_id AND m.number = t.number
WHERE t.merchant_id = $1
GROUP BY t.entry_id, t.number, t.state, t.matched_cents
HAVING (t.state, count(m.match_id), t.matched_cents) NOT IN
    (('MATCHED', 1, max(t.amount_cents)), ('OPEN', 0, 0))
"""
# Reads every table once: it has thousands of files after 200 kills.
_WRONG_COUNTS = """
WITH brought AS (
    SELECT e.file_id, count(DISTINCT e.entry_id) AS entries, count(m.match_id) AS matched
    FROM bank_entries e
    LEFT JOIN bank_matches m ON m.merchant_id = $1 AND m.entry_id = e.entry_id
    WHERE e.merchant_id = $1 AND e.status = 'BOOK'
    GROUP BY e.file_id
)
SELECT f.name, f.state, f.entry_count, f.read_count, f.pending_count, f.new_count, f.matched_count,
       b.entries, b.matched
FROM bank_files f
LEFT JOIN brought b USING (file_id)
WHERE f.merchant_id = $1
  AND ((f.new_count, f.matched_count) <> (coalesce(b.entries, 0), coalesce(b.matched, 0))
       OR f.new_count > f.read_count - f.pending_count
       OR f.state = 'DONE' AND f.read_count <> f.entry_count)
"""
_NAMES = "SELECT name FROM bank_files WHERE merchant_id = $1"
_DONE = """
SELECT name, bool_and(read_count = $2 AND pending_count = $3) AS is_counted
FROM bank_files
WHERE merchant_id = $1 AND state = 'DONE'
GROUP BY name
"""
_OTHER_STATES = """
SELECT name, state, problems FROM bank_files
WHERE merchant_id = $1 AND state NOT IN ('DONE', 'CANCELLED')
"""
# Sessions of killed processes that still have a transaction open, and so hold locks.
_LEFT_OPEN = """
SELECT application_name, state, query
FROM pg_stat_activity
WHERE state LIKE 'idle in transaction%' AND state_change < now() - interval '5 seconds'
  AND $1::integer > 0
"""
_UNBALANCED = """
SELECT c.claim_id
FROM claims c
WHERE c.merchant_id = $1
  AND (SELECT coalesce(sum(a.amount_cents), 0) FROM allocations a
       WHERE a.merchant_id = $1 AND a.claim_id = c.claim_id)
   <> least(
      (SELECT sum(i.value_cents) FROM items i
       WHERE i.merchant_id = $1 AND i.claim_id = c.claim_id),
      (SELECT coalesce(sum(p.amount_cents - p.returned_cents), 0) FROM payments p
       WHERE p.merchant_id = $1 AND p.claim_id = c.claim_id))
"""


@dataclass(frozen=True)
class _Entry:
    cents: int
    # None: it names no claim.
    reference: str | None


@dataclass
class _Bank:
    """A bank that writes a statement for each day. A file has the statements of some days, most of
    which another file has as well."""

    chance: random.Random
    # Bank's reference -> entry.
    entries: dict[str, _Entry] = field(default_factory=dict)
    days: list[str] = field(default_factory=list)
    # Name -> content.
    files: dict[str, bytes] = field(default_factory=dict)

    def write_file(self) -> str:
        """Write the next file and return its name."""
        first = max(0, len(self.days) - self.chance.choice([0, 2, 3]))
        while len(self.days) < first + _DAYS_OF_FILE:
            self.days.append(self._write_day(len(self.days)))
        name = f"file-{len(self.files)}.xml"
        chosen = self.days[first : first + _DAYS_OF_FILE]
        self.files[name] = build_camt(statements="".join(chosen))
        return name

    def _write_day(self, number: int) -> str:
        day = (_FIRST_DAY + timedelta(days=number)).isoformat()
        lines = []
        for place in range(_ENTRIES_OF_DAY):
            claim = self.chance.randrange(_CLAIMS + 4)
            reference = f"INV-6{claim:03}" if claim < _CLAIMS else None
            entry = _Entry(self.chance.randint(1, 900), reference)
            key = f"B-{number}-{place}"
            self.entries[key] = entry
            amount = f"{entry.cents // 100}.{entry.cents % 100:02}"
            lines.append(build_credit(amount, reference or "Danke", key, day=day))
        expected = build_entry("1.00", status="<Cd>PDNG</Cd>", reference="", day=day)
        written = build_statement(*lines, expected, statement_id=f"S-{number}", balances="")
        return written.replace("2026-11-27", day)


@dataclass
class _Service:
    """The parts of the service that import files."""

    harness: Harness
    cluster: Cluster
    folder: Path
    session: str
    bank: _Bank
    interrupted: int = 0
    # Files whose upload was confirmed.
    uploaded: set[str] = field(default_factory=set)

    async def send_by_portal(self, web: Web) -> None:
        """Upload the next file. The process may be killed at any time."""
        name = self.bank.write_file()
        path = f"/portal/m/{self.harness.merchant.merchant_id}/bank/accounts/main"
        cookies = {COOKIE: self.session}
        with contextlib.suppress(httpx.HTTPError):
            async with httpx.AsyncClient(
                base_url=web.origin, cookies=cookies, timeout=20
            ) as client:
                page = await client.get(path)
                if page.status_code == 200:
                    token = read_fields(page.text)["token"]
                    fields: dict[str, Any] = {
                        "token": (None, token),
                        "file": (name, self.bank.files[name]),
                    }
                    answer = await client.post(path, files=fields, headers=OWN_FORM)
                    if answer.status_code == 303:
                        self.uploaded.add(name)

    def send_by_folder(self) -> None:
        name = self.bank.write_file()
        part = self.folder / f"{name}.part"
        part.write_bytes(self.bank.files[name])
        part.rename(self.folder / name)

    async def cancel_one(self) -> None:
        """Cancel an import that waits or runs, as a clerk does."""
        with contextlib.suppress(Refusal, OSError):
            for row in (await self.harness.rows(_RUNNING))[:1]:
                async with self.harness.work() as work:
                    await cancel_import(work, row["file_id"])

    async def wait_for_import(self) -> None:
        """Wait until a process imports a file, for at most five seconds."""
        with contextlib.suppress(TimeoutError, DatabaseAway):
            async with asyncio.timeout(5):
                while not await self.harness.rows(_LEASED):  # noqa: ASYNC110 - no event signals this
                    await asyncio.sleep(0.01)

    async def end_leases(self) -> int:
        """Let the next worker continue at once. Return how many imports were interrupted. The
        database can be busy for a moment with ending the work of killed processes."""
        async with asyncio.timeout(60):
            while True:
                with contextlib.suppress(DatabaseAway):
                    return len(await self.harness.rows(_END_LEASES))
                await asyncio.sleep(0.5)


@pytest.fixture
async def cluster(servers: Servers) -> Cluster:
    """A server that only this test uses, because it is killed."""
    cluster = await servers.start_new()
    await asyncio.to_thread(migrate, cluster.url)
    return cluster


@pytest.fixture
async def service(
    cluster: Cluster, resources: Resources, tmp_path: Path
) -> AsyncIterator[_Service]:
    settings = replace(resources.settings, database_url=cluster.url)
    database = await Database.open(cluster.url, size=4)
    own = replace(resources, settings=settings, database=database, clock=SystemClock())
    harness = await a_harness(own, MovableClock(datetime.now(UTC)))
    await harness.create(*(f"INV-6{number:03}" for number in range(_CLAIMS)))
    account = StatementAccount("main", IBAN, "Muster GmbH", connection=CONNECTION)
    await StatementHarness(harness).save(account)
    roles = UserRoles(Role.OPERATOR)
    person = await join(build_sign_in_services(own), a_new_user("clerk@example.org", roles=roles))
    folder = tmp_path / "bank"
    folder.mkdir()
    bank = _Bank(random.Random(20261127))
    yield _Service(harness, cluster, folder, person.session.secret, bank)
    await database.close()


async def test_each_entry_is_stored_matched_and_counted_once_after_each_kill(
    service: _Service,
) -> None:
    async with AsyncExitStack() as stack:
        web = _start_web(service, stack)
        for kill in range(_KILLS):
            victim = service.bank.chance.choice(["web", "worker", "worker", "command", "database"])
            await _run_and_kill(service, web, victim)
            if victim == "web":
                web = _start_web(service, stack)
            service.interrupted += await service.end_leases()
            if kill % 20 == 19 or kill == _KILLS - 1:
                await _check_everything(service)
    print(f"{service.interrupted} imports were interrupted")
    assert service.interrupted >= _KILLS // 4


def _start_web(service: _Service, stack: AsyncExitStack) -> Web:
    settings = service.harness.resources.settings
    return stack.enter_context(a_web(settings.data_dir, str(settings.database_url)))


async def _run_and_kill(service: _Service, web: Web, victim: str) -> None:
    """Let all parts work for a moment, and kill one of them. The others are killed as well, except
    the web process."""
    chance, settings = service.bank.chance, service.harness.resources.settings
    name = service.bank.write_file()
    path = service.folder.parent / name
    path.write_bytes(service.bank.files[name])
    service.send_by_folder()
    merchant = service.harness.merchant.key
    words = ["statements", "import", str(path), "--merchant", merchant, "--account", "main"]
    environment = {
        "DUNWELL_DATA_DIR": str(settings.data_dir),
        "DUNWELL_DATABASE_URL": str(settings.database_url),
    }
    with a_process(settings, "tests.support.imports_process", str(service.folder)) as worker:
        command = start(main, words, environment=environment)
        try:
            upload = asyncio.create_task(service.send_by_portal(web))
            # A file is imported within a fraction of a second, which a kill after a random time
            # seldom meets.
            if chance.random() < 0.7:
                await service.wait_for_import()
                await asyncio.sleep(chance.uniform(0.0, 0.1))
            else:
                await asyncio.sleep(chance.uniform(0.3, 2.0))
            if chance.random() < 0.3:
                await service.cancel_one()
            if victim == "database":
                service.cluster.kill()
                await service.cluster.start()
            else:
                {"web": web.process, "worker": worker, "command": command}[victim].kill()
            await asyncio.sleep(chance.uniform(0.0, 0.2))
            await upload
        finally:
            command.kill()
            command.join()


async def _check_everything(service: _Service) -> None:
    """Compare the books with the statements, before and after all files are imported again."""
    harness, bank = service.harness, service.bank
    await _finish(service)
    pending = _DAYS_OF_FILE
    read = _DAYS_OF_FILE * _ENTRIES_OF_DAY + pending
    known = {row["name"] for row in await harness.rows(_NAMES)}
    assert service.uploaded <= known
    assert service.uploaded
    done = {row["name"]: row["is_counted"] for row in await harness.rows(_DONE, read, pending)}
    assert all(done.values()), done
    assert len(done) > len(bank.files) / 4
    stored = {row["bank_reference"] for row in await harness.rows(_ENTRIES)}
    for name in done.keys() & bank.files.keys():
        assert _list_references(bank.files[name]) <= stored
    assert await harness.rows(_WRONG_COUNTS) == []

    # Import all files again, because some were cancelled, or lost before they were acknowledged.
    statements = StatementHarness(harness)
    for content in bank.files.values():
        await statements.submit(content)
    await _finish(service)
    assert [tuple(row) for row in await harness.rows(_ENTRIES)] == sorted(
        (key, entry.cents) for key, entry in bank.entries.items()
    )
    assert await harness.rows(_NOT_MATCHED_ONCE) == []
    booked = {row["reference_number"]: tuple(row)[1:] for row in await harness.rows(_BOOKED)}
    assert booked == _sum_by_claim(bank)
    assert await harness.rows(_WRONG_COUNTS) == []
    assert await harness.rows(_UNBALANCED) == []
    assert await harness.rows(_LEFT_OPEN) == []
    cents = sum(each for each, _ in booked.values())
    print(
        f"{len(bank.entries)} entries of {len(bank.files)} files, {len(service.uploaded)} of them "
        f"uploaded, {cents} cents booked"
    )


async def _finish(service: _Service) -> None:
    """Import and match everything that waits."""
    resources = service.harness.resources
    await service.end_leases()
    fetcher = build_fetcher(resources, str(service.folder))
    for _ in range(2):
        await fetcher.run_once()
    while await import_next_file(resources) or await match_all(resources):
        pass
    assert await service.harness.rows(_OTHER_STATES) == []


def _list_references(content: bytes) -> set[str]:
    parts = content.decode().split("<AcctSvcrRef>")[1:]
    return {each.partition("<")[0] for each in parts}


def _sum_by_claim(bank: _Bank) -> dict[str, tuple[int, int]]:
    """Return the cents and the number of entries that name each claim."""
    sums: dict[str, tuple[int, int]] = {}
    for entry in bank.entries.values():
        if entry.reference is not None:
            cents, count = sums.get(entry.reference, (0, 0))
            sums[entry.reference] = cents + entry.cents, count + 1
    return sums
