"""A million claims of five merchants, one of which has four fifths of them, with everything that
belongs to them. The rows are inserted by COPY, as in an import, and the indexes without constraints
are built afterwards."""

import re
import tempfile
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import msgspec

from bench.environment import Ground
from bench.merchant import BenchMerchant, make_merchant
from dunwell.accounts.merchants.actor import build_operator_actor
from dunwell.accounts.merchants.rights import Role
from dunwell.accounts.users.sessions.session_rules import SECRET_BYTES
from dunwell.accounts.users.sessions.sessions import OpenedBy, open_session
from dunwell.accounts.users.store import save_new_user
from dunwell.accounts.users.user import NewUser, UserRoles
from dunwell.accounts.users.user_work import UserWork, Visitor
from dunwell.cases.assignment.edit_rules import SetDefault, edit_rules_draft
from dunwell.core.events.store import save_spans
from dunwell.core.workflows.change_workflow import get_workflow_by_name
from dunwell.core.workflows.drafts.edit_draft import save_draft
from dunwell.core.workflows.store import load_current
from dunwell.platform.database.database import Connection

# The time between two claims. A million claims take about a year.
_STEP = timedelta(seconds=30)
# The number of claims in one transaction.
_SET = 1000
_MERCHANTS = 5
_WORKFLOW = "Messages"
# A workflow with few claims.
_SELDOM = "Texts"
_HEAD = re.compile(r"^-- (\w+)\n", re.MULTILINE)
_SQL = Path(__file__).with_name("crowd.sql")
# UUIDs like those of the service: their first bits are the instant, the others depend on the
# number.
_ID = """(lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '7'
    || substr(md5({what}), 1, 3) || '8' || substr(md5({what}), 4, 15))::uuid"""
_FIRST_NAMES = ("Anna", "Max", "Erika", "Paul", "Mia", "Emil", "Lena", "Jonas", "Clara", "Otto")
_SYLLABLES = ("Hof", "Berg", "Stein", "Bach", "Feld", "Wald", "Kamp", "Brink", "Thal", "Rode")
_CHANNEL = "CASE WHEN s % 100 < 8 THEN 'LETTER' WHEN s % 100 < 20 THEN 'SMS' ELSE 'EMAIL' END"
_SENT = """CASE WHEN k = 1 THEN 'ACCEPTED' WHEN s < 10 THEN 'UNKNOWN' WHEN s < 150 THEN 'FAILED'
    WHEN s < 160 THEN 'CANCELLED' ELSE 'ACCEPTED' END"""
# One person in fifty has the most frequent name.
_LAST_NAME = (
    "CASE WHEN n % 50 = 0 THEN 'Schmidt' ELSE (ARRAY[{0}])[1 + n / 7 % 10]"
    " || lower((ARRAY[{0}])[1 + n / 77 % 10]) || n % 53 END"
)
_INDEXES = """
SELECT i.relname AS name, pg_get_indexdef(i.oid) AS definition
FROM pg_index x
JOIN pg_class i ON i.oid = x.indexrelid
JOIN pg_class t ON t.oid = x.indrelid
WHERE t.relname = ANY($1::text[]) AND NOT EXISTS (
    SELECT FROM pg_constraint c WHERE c.conindid = x.indexrelid)
"""
_FILL_SECONDS = 900


@dataclass(frozen=True, slots=True)
class Crowd:
    """`bench` is the merchant with most claims, `secret` that of an admin's session."""

    bench: BenchMerchant
    rows: int
    first_id: int
    secret: str
    user_id: UUID

    @property
    def merchant_id(self) -> int:
        return self.bench.merchant.merchant_id


async def fill_crowd(ground: Ground, rows: int, *, keeps_indexes: bool = False) -> Crowd:
    """Insert `rows` claims with everything that belongs to them. With `keeps_indexes`, existing
    indexes stay and are not rebuilt afterwards."""
    benches = [
        await make_merchant(ground, _WORKFLOW, "http://127.0.0.1:9/hook", is_live=True)
        for _ in range(_MERCHANTS)
    ]
    await ground.clear_claims()
    user_id, secret = await _let_in(benches[0])
    async with ground.database.connection() as connection:
        values = await _choose(connection, benches, rows, user_id)
    # This takes longer than any timeout of the service.
    connection = await asyncpg.connect(ground.embedded.url, command_timeout=_FILL_SECONDS)
    try:
        await _fill(connection, ground.folder, values, keeps_indexes=keeps_indexes)
        while await save_spans(connection):
            pass
    finally:
        await connection.close()
    await _begin_drafts(benches[0])
    await ground.settle()
    return Crowd(benches[0], rows, int(values["base"]), secret, user_id)


async def _let_in(bench: BenchMerchant) -> tuple[UUID, str]:
    resources = bench.resources
    async with resources.database.transaction() as tx:
        work = UserWork.open(resources, tx, build_operator_actor("bench"))
        user_id = work.ids.new(work.now)
        admin = NewUser("admin@example.org", "Admin", "de", UserRoles(Role.ADMIN))
        await save_new_user(tx, user_id, admin, work.now)
        opened = await open_session(
            work, user_id, OpenedBy.PASSKEY, Visitor("127.0.0.1"), b"b" * SECRET_BYTES
        )
    return user_id, opened.secret


async def _begin_drafts(bench: BenchMerchant) -> None:
    """Create drafts of both workflows, as minor versions, and of the rules."""
    async with bench.resources.database.transaction() as tx:
        work = bench.work(tx)
        workflows = [
            await get_workflow_by_name(tx, work.merchant_id, n) for n in (_WORKFLOW, _SELDOM)
        ]
        for workflow in workflows:
            current = await load_current(tx, work.merchant_id, workflow.workflow_id)
            assert current is not None
            first, *others = current.definition.steps
            steps = [msgspec.structs.replace(first, name="Sooner"), *others]
            definition = msgspec.structs.replace(current.definition, steps=steps)
            await save_draft(work, workflow.name, definition)
        ruling, other = (each.workflow_id for each in workflows)
        await edit_rules_draft(work, SetDefault(other, expected=ruling))


async def _choose(
    connection: Connection, benches: list[BenchMerchant], rows: int, user_id: UUID
) -> dict[str, Any]:
    first = int(await connection.fetchval("SELECT pg_current_xact_id()::text"))
    for _ in range(rows // _SET + 1):
        await connection.execute("SELECT pg_current_xact_id()")
    syllables = ", ".join(f"'{each}'" for each in _SYLLABLES)
    names = ", ".join(f"'{each}'" for each in _FIRST_NAMES)
    return {
        "merchants": ", ".join(str(each.merchant.merchant_id) for each in benches),
        "base": await connection.fetchval("SELECT last_value FROM claims_claim_id_seq"),
        "first": first, "rows": rows, "step": f"interval '{_STEP.seconds} s'",
        "now": benches[0].resources.clock.now().isoformat(), "workflow": _WORKFLOW,
        "seldom": _SELDOM, "user": user_id, "channel": _CHANNEL, "sent": _SENT,
        "first_name": f"(ARRAY[{names}])[1 + n % 10]", "last_name": _LAST_NAME.format(syllables),
    }  # fmt: skip


async def _fill(
    connection: asyncpg.Connection, folder: Path, values: dict[str, Any], *, keeps_indexes: bool
) -> None:
    _, *parts = _HEAD.split(_SQL.read_text())
    queries = dict(zip(parts[::2], parts[1::2], strict=True))
    tables = [name for name in queries if name != "crowd"]
    await connection.execute("SET session_replication_role = replica")
    indexes = [] if keeps_indexes else await connection.fetch(_INDEXES, tables)
    for index in indexes:
        await connection.execute(f"DROP INDEX {index['name']}")
    try:
        for name, query in queries.items():
            # The second row of a claim has another id than the first.
            what = "n::text || k" if "generate_series(0, 1) k" in query else "n::text"
            filled = query.format(**values, id=_ID.format(what=what))
            if name == "crowd":
                await connection.execute(f"CREATE UNLOGGED TABLE crowd AS {filled}")
            else:
                await _copy(connection, folder, name, filled)
            # The planner needs statistics of this table for the queries that read it.
            await connection.execute(f"ANALYZE {name}")
    finally:
        for index in indexes:
            await connection.execute(index["definition"])
        await connection.execute("DROP TABLE IF EXISTS crowd")
    await connection.execute("SELECT setval('claims_claim_id_seq', max(claim_id)) FROM claims")
    await connection.execute("SELECT setval('items_item_id_seq', max(item_id)) FROM items")


async def _copy(connection: asyncpg.Connection, folder: Path, table: str, query: str) -> None:
    prepared = await connection.prepare(query)
    columns = [each.name for each in prepared.get_attributes()]
    with tempfile.TemporaryFile(dir=folder) as file:
        await connection.copy_from_query(query, output=file, timeout=_FILL_SECONDS)
        file.seek(0)
        await connection.copy_to_table(table, source=file, columns=columns, timeout=_FILL_SECONDS)
