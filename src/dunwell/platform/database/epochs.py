"""An order of transactions that survives a restore or a promotion of the database (decision 0016).

Rows that are listed store the number of the transaction that wrote them. Each PostgreSQL server
counts its own transactions. After a dump is loaded into another server, a point in time is restored
or a replica is promoted, the server continues with numbers below those already used. Therefore the
stored number is the server's number added to the number of an epoch. Each new connection compares
the server with the one on which the epoch began, and a new epoch begins if it is another server.
"""

from enum import Enum, auto

import asyncpg
import structlog

from dunwell.platform.database.sql import compose

log = structlog.get_logger(__name__)

# A statement that contains this expression holds a shared lock on `epochs` until its transaction
# ends, so that `_LOCK` waits for it.
_EPOCH = "coalesce((SELECT max(epoch) FROM epochs), 0)"
# The value of `written_by` in a row that is written now.
WRITTEN_BY = f"({_EPOCH} + pg_current_xact_id()::text::bigint)::text::xid8"
# Every row with a `written_by` below this number is final: its transaction is older than every
# running transaction, or belongs to an earlier epoch.
SETTLED_BEFORE = f"({_EPOCH} + pg_snapshot_xmin(pg_current_snapshot())::text::bigint)::text::xid8"

# Every role may run this. The timeline is that of the current WAL position. The control file names
# that of the last checkpoint, which can be the old one for minutes after a promotion.
_SERVER = """
SELECT system_identifier,
    ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::integer AS timeline
FROM pg_control_system()
"""
_COMPARE = compose(
    """
SELECT (last.system_identifier, last.timeline)
    = (server.system_identifier, server.timeline) AS is_same
FROM ({server}) server
LEFT JOIN LATERAL (
    SELECT system_identifier, timeline
    FROM epochs
    ORDER BY epoch DESC
    LIMIT 1
) last ON true
""",
    server=_SERVER,
)
# Waits for the transactions that write or list rows and blocks new ones, so that no row is written
# under an earlier epoch after the new one began.
_LOCK = "LOCK TABLE epochs IN ACCESS EXCLUSIVE MODE"
_SET_LOCK_TIMEOUT = "SET LOCAL lock_timeout = '4s'"
# The number of an epoch counts minutes. It is then above all numbers used in a past that this
# database does not know, for example when a backup is restored twice and the first restore is
# abandoned. Each minute has room for 2^38 transactions, which a server needs years to use up.
_INSERT_EPOCH = compose(
    """
INSERT INTO epochs (epoch, system_identifier, timeline)
SELECT greatest(minute << 38, (SELECT max(epoch) + (1::bigint << 40) FROM epochs), $1::bigint + 1),
    system_identifier, timeline
FROM ({server}) server
CROSS JOIN LATERAL (
    SELECT (extract(epoch FROM clock_timestamp() - timestamptz '2026-01-01Z') / 60)::bigint
) clock (minute)
""",
    server=_SERVER,
)
_INSERT_FIRST_EPOCH = compose(
    """
INSERT INTO epochs (epoch, system_identifier, timeline)
SELECT 0, system_identifier, timeline
FROM ({server}) server
""",
    server=_SERVER,
)
_LOAD_POSITION = compose(
    """
SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS next_number, timeline
FROM ({server}) server
""",
    server=_SERVER,
)
_LIST_ORDERED_TABLES = """
SELECT table_column.attrelid::regclass::text AS name, quote_ident(id.attname) AS id
FROM pg_attribute table_column
JOIN pg_class ON pg_class.oid = table_column.attrelid AND relkind = 'r'
LEFT JOIN pg_attribute id ON id.attrelid = table_column.attrelid AND id.attidentity <> ''
WHERE table_column.attname = 'written_by' AND table_column.atttypid = 'xid8'::regtype
"""
_LIST_SEQUENCES = """
SELECT attrelid::regclass::text AS name, quote_ident(attname) AS id,
    pg_get_serial_sequence(attrelid::regclass::text, attname) AS sequence,
    CASE atttypid WHEN 'bigint'::regtype THEN 100000 ELSE 100 END AS margin
FROM pg_attribute
JOIN pg_class ON pg_class.oid = attrelid AND relkind = 'r'
WHERE attidentity <> ''
"""
_FIND_HIGHEST = "SELECT max(written_by)::text::bigint FROM {table}"
# Set the sequence above the highest number in the table and, as far as possible, above those of
# rows that were lost: an id that a user noted must not later name another row.
_SET_SEQUENCE = """
SELECT setval($1::text::regclass, $2 + greatest(
    (SELECT max({id}) FROM {table}), (SELECT last_value FROM {sequence})))
"""
# Move the rows that this server wrote after another server's rows were restored into it and before
# the first check: their numbers are too low. They are recognised by their ids, which continued.
_MOVE_BY_ID = """
UPDATE {table}
SET written_by = ((SELECT max(epoch) FROM epochs) + written_by::text::bigint)::text::xid8
WHERE written_by < $1::bigint::text::xid8
    AND {id} > (SELECT max({id}) FROM {table} WHERE written_by >= $1::bigint::text::xid8)
"""
# Move such rows in a table without ids. They are recognised by `xmin`: that of a restored row is
# the transaction of the restore, whatever `written_by` says. `xmin` has 32 bits, which are compared
# as the distance from the present.
_MOVE_BY_XMIN = """
WITH restored AS MATERIALIZED (
    SELECT max($1::bigint - (($1::bigint - xmin::text::bigint) & 4294967295)) AS mark
    FROM {table}
    WHERE written_by >= $1::bigint::text::xid8
)
UPDATE {table}
SET written_by = ((SELECT max(epoch) FROM epochs) + written_by::text::bigint)::text::xid8
FROM restored
WHERE written_by < $1::bigint::text::xid8 AND written_by > restored.mark::text::xid8
    AND $1::bigint - (($1::bigint - {table}.xmin::text::bigint) & 4294967295) > restored.mark
"""


class EpochCheck(Enum):
    """What the check did to the order of transactions."""

    UNCHANGED = auto()
    # No server was stored yet, and the rows come from this server.
    FIRST_CHECK = auto()
    NEW_EPOCH = auto()


async def check_epoch(connection: asyncpg.Connection) -> EpochCheck:
    """Compare the server with that of the current epoch, and begin a new epoch if it is another. Do
    nothing if the schema has no epochs yet. Raises CannotConnectNowError for a standby, because a
    connection to it stays open when it is promoted and would not be checked again."""
    if await connection.fetchval("SELECT pg_is_in_recovery()"):
        raise asyncpg.CannotConnectNowError("This server is a standby.")
    try:
        if await connection.fetchval(_COMPARE):
            return EpochCheck.UNCHANGED
    except asyncpg.UndefinedTableError:
        return EpochCheck.UNCHANGED
    async with connection.transaction():
        await connection.execute(_SET_LOCK_TIMEOUT)
        await connection.execute(_LOCK)
        is_same = await connection.fetchval(_COMPARE)
        if is_same:
            return EpochCheck.UNCHANGED  # Another connection has already begun the new epoch.
        outcome = await (_store_server(connection) if is_same is None else _begin_epoch(connection))
    if outcome is EpochCheck.NEW_EPOCH:
        # This is not an error. Operators want to see that a restore or a promotion was noticed.
        log.warning("epoch.started")
    return outcome


async def _store_server(tx: asyncpg.Connection) -> EpochCheck:
    """Store the server of a database that was never checked. The database was restored since its
    creation if its rows have numbers that this server has not reached, or if the timeline is not
    the first one. In that case begin a new epoch."""
    tables = await tx.fetch(_LIST_ORDERED_TABLES)
    highest = [await tx.fetchval(compose(_FIND_HIGHEST, table=table["name"])) for table in tables]
    highest_written_by = max((number for number in highest if number is not None), default=0)
    next_number, timeline = await tx.fetchrow(_LOAD_POSITION)
    if highest_written_by < next_number and (timeline == 1 or highest_written_by == 0):
        await tx.execute(_INSERT_FIRST_EPOCH)
        return EpochCheck.FIRST_CHECK
    outcome = await _begin_epoch(tx, above=highest_written_by)
    for name, column in tables:
        move = compose(_MOVE_BY_XMIN, table=name)
        if column is not None:
            move = compose(_MOVE_BY_ID, table=name, id=column)
        await tx.execute(move, next_number)
    return outcome


async def _begin_epoch(tx: asyncpg.Connection, above: int = 0) -> EpochCheck:
    await tx.execute(_INSERT_EPOCH, above)
    for name, column, sequence, margin in await tx.fetch(_LIST_SEQUENCES):
        statement = compose(_SET_SEQUENCE, table=name, id=column, sequence=sequence)
        await tx.execute(statement, sequence, margin)
    return EpochCheck.NEW_EPOCH
