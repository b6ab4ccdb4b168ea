"""An order of transactions that survives whatever becomes of a database (decision 0016).

Rows that are listed keep the number of the transaction that wrote them. A server counts its
transactions by itself, so a dump in another server, a point in time restored or a copy promoted
would go on with numbers that are behind those handed out. What is stored is therefore the server's
number counted from an epoch, and each new connection compares the server with the one that the
epoch was begun on. Here are the numbers, that comparison, and the beginning of a new epoch.
"""

from enum import Enum, auto

import asyncpg
import structlog

from dunwell.platform.database.sql import compose

log = structlog.get_logger(__name__)

# The statement that names one of these holds the table until its transaction ends.
_EPOCH = "coalesce((SELECT max(epoch) FROM epochs), 0)"
# What a row that is written now keeps as its `written_by`.
WRITTEN_BY = f"({_EPOCH} + pg_current_xact_id()::text::bigint)::text::xid8"
# Nothing is written any more under a number before this one: what is older than every transaction
# that still runs, and all of earlier epochs.
SETTLED_BEFORE = f"({_EPOCH} + pg_snapshot_xmin(pg_current_snapshot())::text::bigint)::text::xid8"

# Any role may ask this. The timeline is that of what is written now: the control file names the
# one of the last checkpoint, which after a promotion is for minutes the old one.
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
# Waits for those who write or list, and makes others wait, so that nobody writes under an earlier
# epoch after this one began.
_LOCK = "LOCK TABLE epochs IN ACCESS EXCLUSIVE MODE"
_PATIENCE = "SET LOCAL lock_timeout = '4s'"
# Minutes are counted, so that it is behind all that was handed out in a past that this database
# does not know: two restores of one backup, of which the first is given up. For each of them there
# are 2^38 transactions; a server that counted on for longer has counted for years.
_BEGIN = compose(
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
_ADOPT = compose(
    """
INSERT INTO epochs (epoch, system_identifier, timeline)
SELECT 0, system_identifier, timeline
FROM ({server}) server
""",
    server=_SERVER,
)
_LOAD_STANDING = compose(
    """
SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS next_number, timeline
FROM ({server}) server
""",
    server=_SERVER,
)
_LIST_ORDERED = """
SELECT table_column.attrelid::regclass::text AS name, quote_ident(id.attname) AS id
FROM pg_attribute table_column
JOIN pg_class ON pg_class.oid = table_column.attrelid AND relkind = 'r'
LEFT JOIN pg_attribute id ON id.attrelid = table_column.attrelid AND id.attidentity <> ''
WHERE table_column.attname = 'written_by' AND table_column.atttypid = 'xid8'::regtype
"""
_LIST_SEQUENCES = """
SELECT attrelid::regclass::text AS name, quote_ident(attname) AS id,
    pg_get_serial_sequence(attrelid::regclass::text, attname) AS sequence,
    CASE atttypid WHEN 'bigint'::regtype THEN 100000 ELSE 100 END AS room
FROM pg_attribute
JOIN pg_class ON pg_class.oid = attrelid AND relkind = 'r'
WHERE attidentity <> ''
"""
_FIND_HIGHEST = "SELECT max(written_by)::text::bigint FROM {table}"
# Behind the highest that is there, and, as far as anybody can tell, those of rows that were lost:
# whoever noted one of theirs must not meet another row under it.
_SET_SEQUENCE = """
SELECT setval($1::text::regclass, $2 + greatest(
    (SELECT max({id}) FROM {table}), (SELECT last_value FROM {sequence})))
"""
# Rows that this server wrote after others' had been restored into it, when nobody compared yet:
# their numbers are before those. By their ids, which went on.
_MOVE_BY_ID = """
UPDATE {table}
SET written_by = ((SELECT max(epoch) FROM epochs) + written_by::text::bigint)::text::xid8
WHERE written_by < $1::bigint::text::xid8
    AND {id} > (SELECT max({id}) FROM {table} WHERE written_by >= $1::bigint::text::xid8)
"""
# Without ids by the server's own mark: a restored row bears that of the restore, whatever number
# it keeps. The mark has 32 bits; it is as much before the present as those say.
_MOVE_BY_MARK = """
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


class EpochOutcome(Enum):
    """What became of the order."""

    AS_BEFORE = auto()
    # No server was known yet, and the rows are this one's.
    BEGUN = auto()
    RAISED = auto()


async def check_epoch(connection: asyncpg.Connection) -> EpochOutcome:
    """Compare the server with the epoch's, and begin a new one where it is another. A schema that
    has no epochs yet is left alone. Raises CannotConnectNowError for a standby: what is open to
    one stays open when it is promoted, and would not be compared again."""
    if await connection.fetchval("SELECT pg_is_in_recovery()"):
        raise asyncpg.CannotConnectNowError("This server is a standby.")
    try:
        if await connection.fetchval(_COMPARE):
            return EpochOutcome.AS_BEFORE
    except asyncpg.UndefinedTableError:
        return EpochOutcome.AS_BEFORE
    async with connection.transaction():
        await connection.execute(_PATIENCE)
        await connection.execute(_LOCK)
        is_same = await connection.fetchval(_COMPARE)
        if is_same:
            return EpochOutcome.AS_BEFORE  # another connection was first
        outcome = await (_adopt(connection) if is_same is None else _raise(connection))
    if outcome is EpochOutcome.RAISED:
        # Nothing is wrong: who restored or promoted wants to see that it was noticed.
        log.warning("epoch.raised")
    return outcome


async def _adopt(tx: asyncpg.Connection) -> EpochOutcome:
    """A database that nobody compared before. It may have been restored since it was made: where
    rows have numbers that this server has not reached, or its timeline is not the first."""
    tables = await tx.fetch(_LIST_ORDERED)
    highest = [await tx.fetchval(compose(_FIND_HIGHEST, table=each["name"])) for each in tables]
    highest_written_by = max((each for each in highest if each is not None), default=0)
    next_number, timeline = await tx.fetchrow(_LOAD_STANDING)
    if highest_written_by < next_number and (timeline == 1 or highest_written_by == 0):
        await tx.execute(_ADOPT)
        return EpochOutcome.BEGUN
    outcome = await _raise(tx, behind=highest_written_by)
    for name, column in tables:
        move = compose(_MOVE_BY_MARK, table=name)
        if column is not None:
            move = compose(_MOVE_BY_ID, table=name, id=column)
        await tx.execute(move, next_number)
    return outcome


async def _raise(tx: asyncpg.Connection, behind: int = 0) -> EpochOutcome:
    await tx.execute(_BEGIN, behind)
    for name, column, sequence, room in await tx.fetch(_LIST_SEQUENCES):
        statement = compose(_SET_SEQUENCE, table=name, id=column, sequence=sequence)
        await tx.execute(statement, sequence, room)
    return EpochOutcome.RAISED
