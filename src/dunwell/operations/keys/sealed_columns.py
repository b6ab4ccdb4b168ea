"""The table of sealed (encrypted) columns, and how each is encrypted again with a new version of
the secret key.

The values of a column that is missing here would become unreadable when an old version is retired,
so a test compares the table with the schema.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias
from uuid import UUID

import structlog

from dunwell.accounts.installation import store as secrets
from dunwell.accounts.users.factors import totp
from dunwell.cases.direct_debit import mandates
from dunwell.cases.direct_debit.files import release_debits
from dunwell.cases.replies import reply
from dunwell.cases.statements import imported_file
from dunwell.core.events.webhooks import endpoint_secrets
from dunwell.platform.crypto import DecryptionFailed, KeyRing, parse_key_version
from dunwell.platform.database.database import Connection, Database
from dunwell.platform.database.sql import compose

# The values of a primary key, in its order.
RowKey: TypeAlias = tuple[Any, ...]
# Rows in one transaction.
PART_SIZE = 200


@dataclass(frozen=True, slots=True)
class ResealedPart:
    """A part of the rows that was processed. `last` is its last row, or None if no row was left."""

    last: RowKey | None
    resealed: int = 0


class SealedValues(Protocol):
    """A kind of sealed values. Each value names the version of the secret key that sealed it."""

    @property
    def name(self) -> str:
        """The name that operators see. Several kinds can share it."""

    @property
    def beginning(self) -> RowKey:
        """A key that is smaller than all others."""

    async def count(self, tx: Connection) -> Mapping[int, int]:
        """Count the values by version."""

    async def reseal(self, database: Database, keys: KeyRing, after: RowKey) -> ResealedPart:
        """Reseal the values of the next part that an older version sealed. A value that is changed
        in the meantime keeps the new content. An interruption at any point does no harm."""


# Uses the primary key.
_LOAD_PART = """
SELECT {keys}, {bound_by}, {column} AS sealed
FROM {table}
WHERE ({keys}) > ({after}) AND {column} IS NOT NULL
ORDER BY {keys}
LIMIT {limit}
"""
# Uses the primary key. A value that was changed in the meantime is not replaced, because it is
# already sealed with the current version.
_SAVE_VALUES = """
UPDATE {table} t SET {column} = n.new
FROM unnest({arrays}) AS n ({keys}, old, new)
WHERE {is_same_row} AND t.{column} = n.old
"""
# The first bytes of each value, which contain its version.
_LOAD_VALUE_STARTS = (
    "SELECT substring({column} FROM 1 FOR 32) FROM {table} WHERE {column} IS NOT NULL"
)

log = structlog.get_logger(__name__)


class KeyColumn(NamedTuple):
    """A column of a primary key. `smallest` is smaller than its values, or equal to the
    smallest.
    """

    name: str
    type: str
    smallest: object


def _build_uuid_column(name: str) -> KeyColumn:
    return KeyColumn(name, "uuid", UUID(int=0))


_MERCHANT = KeyColumn("merchant_id", "integer", 0)


@dataclass(frozen=True, slots=True)
class SealedColumn:
    """One sealed column as a kind of `SealedValues`. `bind` computes the associated data of a value
    from the columns `bound_by` of its row."""

    name: str
    table: str
    keys: tuple[KeyColumn, ...]
    column: str
    purpose: str
    bound_by: tuple[str, ...]
    bind: Callable[..., str]
    rows_at_once: int = PART_SIZE

    @property
    def beginning(self) -> RowKey:
        return tuple(key.smallest for key in self.keys)

    async def count(self, tx: Connection) -> Mapping[int, int]:
        statement = compose(_LOAD_VALUE_STARTS, column=self.column, table=self.table)
        return Counter(parse_key_version(head) for (head,) in await tx.fetch(statement))

    async def reseal(self, database: Database, keys: KeyRing, after: RowKey) -> ResealedPart:
        count = len(self.keys)
        async with database.transaction() as tx:
            rows = await tx.fetch(self._compose_load(), *after, self.rows_at_once)
            if not rows:
                return ResealedPart(None)
            changed = []
            for row in rows:
                new = self._reseal_value(keys, row["sealed"], tuple(row)[count:-1])
                if new != row["sealed"]:
                    changed.append((*tuple(row)[:count], row["sealed"], new))
            if changed:
                await tx.execute(self._compose_save(), *map(list, zip(*changed, strict=True)))
        return ResealedPart(tuple(rows[-1])[:count], len(changed))

    def _reseal_value(self, keys: KeyRing, sealed: bytes, owner: tuple[object, ...]) -> bytes:
        """Reseal one value. A value that cannot be decrypted stays unchanged, so that an operator
        can examine it."""
        try:
            return keys.reseal(self.purpose, sealed, self.bind(*owner))
        except DecryptionFailed:
            log.exception("value cannot be decrypted", table=self.table, owner=str(owner))
            return sealed

    def _compose_load(self) -> str:
        positions = range(1, len(self.keys) + 1)
        return compose(
            _LOAD_PART,
            keys=", ".join(key.name for key in self.keys),
            bound_by=", ".join(self.bound_by),
            column=self.column,
            table=self.table,
            after=", ".join(f"${position}" for position in positions),
            limit=f"${len(self.keys) + 1}",
        )

    def _compose_save(self) -> str:
        types = [*(key.type for key in self.keys), "bytea", "bytea"]
        return compose(
            _SAVE_VALUES,
            table=self.table,
            column=self.column,
            arrays=", ".join(f"${position}::{type_}[]" for position, type_ in enumerate(types, 1)),
            keys=", ".join(key.name for key in self.keys),
            is_same_row=" AND ".join(f"t.{key.name} = n.{key.name}" for key in self.keys),
        )


def _build_webhook_column(column: str, purpose: str) -> SealedColumn:
    """Describe a column of webhook secrets. Those of removed endpoints are resealed, too."""
    return SealedColumn(
        name="webhook secrets",
        table="webhook_endpoints",
        keys=(_MERCHANT, _build_uuid_column("endpoint_id")),
        column=column,
        purpose=purpose,
        bound_by=("merchant_id", "endpoint_id"),
        bind=endpoint_secrets.render_binding,
    )


SEALED_COLUMNS = (
    _build_webhook_column("secret_sealed", endpoint_secrets.SIGNING),
    _build_webhook_column("previous_secret_sealed", endpoint_secrets.SIGNING),
    _build_webhook_column("authorization_sealed", endpoint_secrets.AUTHORIZATION),
    SealedColumn(
        name="authenticator apps",
        table="authentication_factors",
        keys=(_build_uuid_column("factor_id"),),
        column="secret_sealed",
        purpose=totp.PURPOSE,
        bound_by=("user_id",),
        bind=str,
    ),
    SealedColumn(
        name="secrets of the installation file",
        table="installation_secrets",
        keys=(KeyColumn("name", "text", ""),),
        column="sealed",
        purpose=secrets.PURPOSE,
        bound_by=("name",),
        bind=str,
    ),
    SealedColumn(
        name="answers of debtors",
        table="debtor_replies",
        keys=(_MERCHANT, _build_uuid_column("reply_id")),
        column="raw_sealed",
        purpose=reply.SEAL_PURPOSE,
        bound_by=("merchant_id", "reply_id"),
        bind=reply.build_seal_context,
        # Each value may have several megabytes.
        rows_at_once=20,
    ),
    SealedColumn(
        name="accounts of direct debits",
        table="mandates",
        keys=(_MERCHANT, _build_uuid_column("mandate_id")),
        column="account_sealed",
        purpose=mandates.SEAL_PURPOSE,
        bound_by=("merchant_id", "mandate_id"),
        bind=mandates.build_seal_context,
    ),
    SealedColumn(
        name="files of direct debits",
        table="debit_files",
        keys=(_MERCHANT, _build_uuid_column("file_id")),
        column="content_sealed",
        purpose=release_debits.FILE_SEAL_PURPOSE,
        bound_by=("merchant_id", "file_id"),
        bind=release_debits.build_file_context,
        # A file may have a megabyte.
        rows_at_once=20,
    ),
    SealedColumn(
        name="bank files that are being imported",
        table="bank_files",
        keys=(_MERCHANT, _build_uuid_column("file_id")),
        column="content_sealed",
        purpose=imported_file.SEAL_PURPOSE,
        bound_by=("merchant_id", "file_id"),
        bind=imported_file.build_seal_context,
        # A value may have 25 megabytes.
        rows_at_once=1,
    ),
)
