"""Checks a merchant's chain of seals against the rows it covers: every row's digest, every seal's
digest, no seal left out, no row too many or too few. Rows are streamed; one seal's digests are in
memory at a time.
"""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field

from dunwell.contact.messages.ledger import BEGINNING, SealParts, digest_row, digest_seal
from dunwell.contact.messages.ledger_findings import Fault, Finding, Findings
from dunwell.contact.messages.ledger_store import (
    AUDITS,
    CONTACTS,
    Head,
    Seal,
    SealedRow,
    load_sealed,
    load_seals,
)
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Connection


@dataclass(slots=True)
class Chain:
    """What was gone over."""

    head: Head | None = None
    rows: int = 0
    findings: Findings = field(default_factory=Findings)


# What the first seal of a chain follows.
_NONE = Head(0, BEGINNING)


async def check_seals(
    tx: Connection, keys: KeyRing, merchant_id: int, expected: Head | None = None
) -> Chain:
    """`expected`: a seal that was kept elsewhere. Within a transaction of one snapshot."""
    rows = {table: load_sealed(tx, merchant_id, table) for table in (CONTACTS, AUDITS)}
    return await check_chain(
        keys, merchant_id, seals=load_seals(tx, merchant_id), rows=rows, expected=expected
    )


async def check_chain(
    keys: KeyRing, owner_id: int, seals: AsyncIterator[Seal],
    rows: Mapping[str, AsyncIterator[SealedRow]], expected: Head | None,
    previous: Head = _NONE,
) -> Chain:  # fmt: skip
    """`rows`: by table, contacts before audits; `owner_id`: what digests were made for; `previous`:
    what the first seal follows, where only a part of the chain is checked."""
    checker = _Checker(keys, owner_id, rows)
    is_expected_found = expected is None
    async for seal in seals:
        await checker.check(seal, previous)
        previous = checker.chain.head = Head(seal.seal, seal.digest, seal.key_version)
        is_expected_found = is_expected_found or previous == expected
    await checker.finish()
    if expected is not None and not is_expected_found:
        checker.chain.findings.add(_describe_lost_head(expected, previous))
    return checker.chain


def _describe_lost_head(expected: Head, newest: Head) -> Finding:
    what = (
        f"the chain ends with seal {newest.seal}: its tail was cut off"
        if expected.seal > newest.seal
        else "it has another digest now, or is gone"
    )
    message = f"seal {expected.seal} is not as it was kept elsewhere; {what}"
    return Finding(Fault.HEAD_MISSING, message, expected.seal)


class _Checker:
    def __init__(
        self, keys: KeyRing, owner_id: int, rows: Mapping[str, AsyncIterator[SealedRow]]
    ) -> None:
        self._keys = keys
        self._owner_id = owner_id
        self._rows = {table: _Sealed(each) for table, each in rows.items()}
        self.chain = Chain()

    async def check(self, seal: Seal, previous: Head) -> None:
        if seal.seal != previous.seal + 1:
            self._add(
                Fault.SEAL_MISSING, previous.seal + 1, f"is missing; seal {seal.seal} follows"
            )
        self._check_version(seal, previous)
        digests = {table: await self._check_rows(table, seal) for table in self._rows}
        contacts = digests.pop(CONTACTS, [])
        [(audit_table, audits)] = digests.items()
        parts = SealParts(seal.seal, previous.digest, contacts, audits)
        is_as_sealed = not self._has(seal) or seal.digest == digest_seal(
            self._keys, self._owner_id, parts, seal.key_version
        )
        is_counted = self._check_count(seal.seal, CONTACTS, seal.contacts, len(contacts))
        is_counted &= self._check_count(seal.seal, audit_table, seal.audits, len(audits))
        if not is_as_sealed and is_counted:
            self._add(
                Fault.SEAL_ALTERED, seal.seal,
                "does not fit its rows and the seal before it: one of them was altered",
            )  # fmt: skip

    async def finish(self) -> None:
        """What bears the number of a seal behind the last."""
        for table, rows in self._rows.items():
            async for row in rows.until(None):
                self.chain.rows += 1
                self._add(Fault.SEAL_MISSING, row.seal, f"is missing; {table} {row.key} bears it")

    def _has(self, seal: Seal) -> bool:
        return seal.key_version in self._keys.versions

    def _check_version(self, seal: Seal, previous: Head) -> None:
        version = f"version {seal.key_version} of the secret key"
        if seal.key_version < previous.key_version:
            words = f"is by {version}, though a newer one was in use before: made with a leaked key"
            self._add(Fault.SEAL_ALTERED, seal.seal, words)
        if not self._has(seal):
            self._add(Fault.SEAL_ALTERED, seal.seal, f"is by {version}, which is not in use here")

    async def _check_rows(self, table: str, seal: Seal) -> list[bytes]:
        """The digests the rows of the seal bear; a row that has not the one it bears is told."""
        digests = []
        async for row in self._rows[table].until(seal.seal):
            self.chain.rows += 1
            if row.seal < seal.seal:
                self._add(Fault.SEAL_MISSING, row.seal, f"is missing; {table} {row.key} bears it")
                continue
            if self._has(seal) and row.digest != digest_row(
                self._keys,
                self._owner_id,
                table=table,
                fields=row.fields,
                key_version=seal.key_version,
            ):
                words = f"covers {table} {row.key} ({row.name}): not as sealed"
                self._add(Fault.ROW_ALTERED, seal.seal, words)
            digests.append(row.digest or b"")
        return digests

    def _check_count(self, seal: int, table: str, sealed: int, found: int) -> bool:
        if found < sealed:
            words = f"covers {sealed} rows of {table}; {sealed - found} of them missing"
            self._add(Fault.ROWS_MISSING, seal, words)
        elif found > sealed:
            words = f"covers {sealed} rows of {table}; {found - sealed} too many bear its number"
            self._add(Fault.ROWS_ADDED, seal, words)
        return found == sealed

    def _add(self, fault: Fault, seal: int, words: str) -> None:
        self.chain.findings.add(Finding(fault, f"seal {seal} {words}", seal))


class _Sealed:
    """Rows in the order of their seals, taken seal by seal."""

    def __init__(self, rows: AsyncIterator[SealedRow]) -> None:
        self._rows = rows
        self._next: SealedRow | None = None

    async def until(self, seal: int | None) -> AsyncIterator[SealedRow]:
        """Those of the seal and of earlier ones not taken yet; none: all the rest."""
        while True:
            row = self._next or await anext(self._rows, None)
            self._next = row
            if row is None or (seal is not None and row.seal > seal):
                return
            self._next = None
            yield row
