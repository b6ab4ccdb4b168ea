"""Verify a merchant's ledger from one snapshot: the digest of every row, the chain of seals, and
the recorded contacts."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol
from uuid import UUID

from dunwell.accounts.merchants.store import load_merchant, load_merchants_page
from dunwell.contact.messages.ledger.seal_ledger import (
    FIRST_PREVIOUS_DIGEST,
    SealParts,
    digest_content,
    digest_recipient,
    digest_row,
    digest_seal,
)
from dunwell.contact.messages.ledger.store import (
    AUDITS,
    CONTACTS,
    DuplicateEntry,
    LedgerSeal,
    SealedRow,
    SealHead,
    StoredContact,
    count_unsealed_rows,
    stream_contents,
    stream_contradictions,
    stream_digest_mismatches,
    stream_duplicates,
    stream_entries_without_contact,
    stream_sealed_rows,
    stream_seals,
)
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Connection, snapshot
from dunwell.platform.errors import NotFound
from dunwell.platform.resources import Resources

# The maximum number of findings that are listed for one merchant. Further ones are only counted.
MAX_FINDINGS = 1000


class LedgerFault(StrEnum):
    ROW_ALTERED = "ROW_ALTERED"
    ROWS_MISSING = "ROWS_MISSING"
    ROWS_ADDED = "ROWS_ADDED"
    SEAL_ALTERED = "SEAL_ALTERED"
    SEAL_MISSING = "SEAL_MISSING"
    HEAD_MISSING = "HEAD_MISSING"
    CONTACTED_TWICE = "CONTACTED_TWICE"
    CONTACT_CONTRADICTS = "CONTACT_CONTRADICTS"
    CONTACT_MISSING = "CONTACT_MISSING"
    CONTENT_ALTERED = "CONTENT_ALTERED"
    RECIPIENT_ALTERED = "RECIPIENT_ALTERED"


@dataclass(frozen=True, slots=True)
class LedgerFinding:
    fault: LedgerFault
    # A sentence that names the row, contact or seal and the fault.
    message: str
    # The number of the seal, if the finding is about one.
    seal: int | None = None


@dataclass(slots=True)
class LedgerFindings:
    listed: list[LedgerFinding] = field(default_factory=list)
    count: int = 0

    def add(self, finding: LedgerFinding) -> None:
        self.count += 1
        if len(self.listed) < MAX_FINDINGS:
            self.listed.append(finding)


class _HasContact(Protocol):
    @property
    def communication_id(self) -> UUID: ...

    @property
    def claim_id(self) -> int: ...


async def verify_contacts(
    tx: Connection, keys: KeyRing, merchant_id: int, findings: LedgerFindings
) -> None:
    """Compare the contacts with the ledger and add the deviations to the findings. Must run in a
    transaction with one snapshot."""
    async for duplicate in stream_duplicates(tx, merchant_id):
        findings.add(_describe_duplicate(duplicate))
    async for each in stream_contradictions(tx, merchant_id):
        recorded = (
            f"the ledger says {each.ledger_state}" if each.ledger_state else "has no ledger entry"
        )
        problem = f"is {each.state}, but {recorded}"
        findings.add(_describe(LedgerFault.CONTACT_CONTRADICTS, each, problem))
    async for missing in stream_entries_without_contact(tx, merchant_id):
        problem = f"does not match its ledger entry {missing.entry_id} ({missing.outcome})"
        findings.add(_describe(LedgerFault.CONTACT_MISSING, missing, problem))
    async for mismatch in stream_digest_mismatches(tx, merchant_id):
        fault = (
            LedgerFault.CONTENT_ALTERED if mismatch.is_content else LedgerFault.RECIPIENT_ALTERED
        )
        findings.add(_describe(fault, mismatch, "has other digests than its ledger entry"))
    async for stored in stream_contents(tx, merchant_id):
        _check_content(keys, merchant_id, stored, findings)


def _check_content(
    keys: KeyRing, merchant_id: int, stored: StoredContact, findings: LedgerFindings
) -> None:
    content = stored.content
    if content.key_version not in keys.versions:
        problem = (
            f"was handed over with version {content.key_version} of the secret key, unknown here"
        )
        findings.add(_describe(LedgerFault.CONTENT_ALTERED, stored, problem))
        return
    recipient = digest_recipient(
        keys,
        merchant_id,
        channel=stored.channel,
        recipient=content.recipient,
        key_version=content.key_version,
    )
    if recipient != stored.recipient_digest:
        problem = "is stored with a different recipient than it was sent to"
        findings.add(_describe(LedgerFault.RECIPIENT_ALTERED, stored, problem))
    if (
        digest_content(keys, merchant_id, content.parts, content.key_version)
        != stored.content_digest
    ):
        problem = "is stored with a different text than it was sent with"
        findings.add(_describe(LedgerFault.CONTENT_ALTERED, stored, problem))


def _describe_duplicate(entry: DuplicateEntry) -> LedgerFinding:
    step = f"claim {entry.claim_id}, run {entry.run}, step {entry.step_id}"
    contacts = f"communication {entry.communications}"
    problem = f"{step}, place {entry.place} ({contacts}) is {entry.kind} {entry.rows} times"
    return LedgerFinding(LedgerFault.CONTACTED_TWICE, problem)


def _describe(fault: LedgerFault, contact: _HasContact, problem: str) -> LedgerFinding:
    return LedgerFinding(
        fault, f"communication {contact.communication_id} of claim {contact.claim_id} {problem}"
    )


@dataclass(slots=True)
class ChainVerification:
    """The result of verifying a chain of seals."""

    # The last seal of the chain; None if the chain is empty.
    head: SealHead | None = None
    # The number of sealed rows, in both tables.
    rows: int = 0
    findings: LedgerFindings = field(default_factory=LedgerFindings)


# The predecessor of the first seal.
_BEFORE_FIRST = SealHead(0, FIRST_PREVIOUS_DIGEST)


async def verify_seals(
    tx: Connection, keys: KeyRing, merchant_id: int, expected: SealHead | None = None
) -> ChainVerification:
    """Verify all seals of a merchant. Must run in a transaction with one snapshot.

    `expected` is a seal that was kept elsewhere.
    """
    rows = {table: stream_sealed_rows(tx, merchant_id, table) for table in (CONTACTS, AUDITS)}
    return await verify_chain(
        keys, merchant_id, seals=stream_seals(tx, merchant_id), rows=rows, expected=expected
    )


async def verify_chain(
    keys: KeyRing, owner_id: int, seals: AsyncIterator[LedgerSeal],
    rows: Mapping[str, AsyncIterator[SealedRow]], expected: SealHead | None,
    previous: SealHead = _BEFORE_FIRST,
) -> ChainVerification:  # fmt: skip
    """Verify a chain of seals. `owner_id` is the merchant for which the digests were made. `rows`
    has the sealed rows by table, contacts before audits. `previous` is the predecessor of the first
    seal, if only a part of the chain is verified."""
    verifier = _ChainVerifier(keys, owner_id, rows)
    is_expected_found = expected is None
    async for seal in seals:
        await verifier.verify(seal, previous)
        previous = verifier.chain.head = SealHead(seal.seal, seal.digest, seal.key_version)
        is_expected_found = is_expected_found or previous == expected
    await verifier.finish()
    if expected is not None and not is_expected_found:
        verifier.chain.findings.add(_describe_lost_head(expected, previous))
    return verifier.chain


def _describe_lost_head(expected: SealHead, newest: SealHead) -> LedgerFinding:
    problem = (
        f"the chain ends with seal {newest.seal}: its tail was cut off"
        if expected.seal > newest.seal
        else "it has a different digest or is missing"
    )
    message = f"seal {expected.seal} differs from the copy kept elsewhere; {problem}"
    return LedgerFinding(LedgerFault.HEAD_MISSING, message, expected.seal)


class _ChainVerifier:
    """Verifies one seal after the other and collects the findings."""

    def __init__(
        self, keys: KeyRing, owner_id: int, rows: Mapping[str, AsyncIterator[SealedRow]]
    ) -> None:
        self._keys = keys
        self._owner_id = owner_id
        self._rows = {table: _RowReader(each) for table, each in rows.items()}
        self.chain = ChainVerification()

    async def verify(self, seal: LedgerSeal, previous: SealHead) -> None:
        """Verify a seal, its rows, and that it follows the previous seal."""
        if seal.seal != previous.seal + 1:
            self._add(
                LedgerFault.SEAL_MISSING, previous.seal + 1, f"is missing; seal {seal.seal} follows"
            )
        self._check_version(seal, previous)
        digests = {table: await self._check_rows(table, seal) for table in self._rows}
        contacts = digests.pop(CONTACTS, [])
        # The other table is the audit log, of a merchant or of the installation.
        [(audit_table, audits)] = digests.items()
        parts = SealParts(seal.seal, previous.digest, contacts, audits)
        is_digest_right = not self._has_key_of(seal) or seal.digest == digest_seal(
            self._keys, self._owner_id, parts, seal.key_version
        )
        is_counted = self._check_count(seal.seal, CONTACTS, seal.contacts, len(contacts))
        is_counted &= self._check_count(seal.seal, audit_table, seal.audits, len(audits))
        if not is_digest_right and is_counted:
            self._add(
                LedgerFault.SEAL_ALTERED, seal.seal,
                "does not match its rows and the previous seal: one of them was altered",
            )  # fmt: skip

    async def finish(self) -> None:
        """Report rows that name a seal after the last one."""
        for table, rows in self._rows.items():
            async for row in rows.until(None):
                self.chain.rows += 1
                self._add(
                    LedgerFault.SEAL_MISSING,
                    row.seal,
                    f"is missing, but {table} {row.key} names it",
                )

    def _has_key_of(self, seal: LedgerSeal) -> bool:
        return seal.key_version in self._keys.versions

    def _check_version(self, seal: LedgerSeal, previous: SealHead) -> None:
        version = f"version {seal.key_version} of the secret key"
        if seal.key_version < previous.key_version:
            problem = f"has {version}, although a newer one was used before: the key was leaked"
            self._add(LedgerFault.SEAL_ALTERED, seal.seal, problem)
        if not self._has_key_of(seal):
            self._add(
                LedgerFault.SEAL_ALTERED, seal.seal, f"has {version}, which is not known here"
            )

    async def _check_rows(self, table: str, seal: LedgerSeal) -> list[bytes]:
        """Return the stored digests of the seal's rows, and report rows whose digest is wrong."""
        digests = []
        async for row in self._rows[table].until(seal.seal):
            self.chain.rows += 1
            if row.seal < seal.seal:
                self._add(
                    LedgerFault.SEAL_MISSING,
                    row.seal,
                    f"is missing, but {table} {row.key} names it",
                )
                continue
            if self._has_key_of(seal) and row.digest != digest_row(
                self._keys,
                self._owner_id,
                table=table,
                fields=row.fields,
                key_version=seal.key_version,
            ):
                problem = f"covers {table} {row.key} ({row.name}), which was altered"
                self._add(LedgerFault.ROW_ALTERED, seal.seal, problem)
            digests.append(row.digest or b"")
        return digests

    def _check_count(self, seal: int, table: str, sealed: int, found: int) -> bool:
        if found < sealed:
            problem = f"covers {sealed} rows of {table}; missing: {sealed - found}"
            self._add(LedgerFault.ROWS_MISSING, seal, problem)
        elif found > sealed:
            problem = f"covers {sealed} rows of {table}; too many: {found - sealed}"
            self._add(LedgerFault.ROWS_ADDED, seal, problem)
        return found == sealed

    def _add(self, fault: LedgerFault, seal: int, problem: str) -> None:
        self.chain.findings.add(LedgerFinding(fault, f"seal {seal} {problem}", seal))


class _RowReader:
    """Rows ordered by seal, consumed seal by seal."""

    def __init__(self, rows: AsyncIterator[SealedRow]) -> None:
        self._rows = rows
        self._next: SealedRow | None = None

    async def until(self, seal: int | None) -> AsyncIterator[SealedRow]:
        """Yield the remaining rows up to the given seal; None yields all."""
        while True:
            row = self._next or await anext(self._rows, None)
            self._next = row
            if row is None or (seal is not None and row.seal > seal):
                return
            self._next = None
            yield row


_MERCHANTS_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class LedgerVerdict:
    merchant_key: str
    # The newest seal, to be kept elsewhere; None before the first.
    head: SealHead | None
    sealed_rows: int
    # Rows that are not sealed yet.
    unsealed_rows: int
    # The first findings; `fault_count` counts all of them.
    findings: tuple[LedgerFinding, ...]
    fault_count: int

    @property
    def is_sound(self) -> bool:
        return self.fault_count == 0


async def verify_ledger(
    resources: Resources, merchant_id: int, expected: SealHead | None = None
) -> LedgerVerdict:
    """Verify the ledger of a merchant. Raises NotFound.

    `expected` is a seal that was kept elsewhere. If the chain has lost it, the chain was cut or
    replaced.
    """
    keys = resources.keys
    async with resources.database.connection() as connection, snapshot(connection):
        merchant = await load_merchant(connection, merchant_id)
        if merchant is None:
            raise NotFound(f"There is no merchant {merchant_id}.")
        chain = await verify_seals(connection, keys, merchant_id, expected)
        await verify_contacts(connection, keys, merchant_id, chain.findings)
        unsealed = await count_unsealed_rows(connection, merchant_id)
    findings = chain.findings
    return LedgerVerdict(
        merchant_key=merchant.key,
        head=chain.head,
        sealed_rows=chain.rows,
        unsealed_rows=unsealed,
        findings=tuple(findings.listed),
        fault_count=findings.count,
    )


async def list_merchant_ids(resources: Resources) -> list[int]:
    """List the ids of all merchants."""
    merchant_ids: list[int] = []
    async with resources.database.connection() as connection:
        while page := await load_merchants_page(
            connection, merchant_ids[-1] if merchant_ids else 0, _MERCHANTS_AT_ONCE
        ):
            merchant_ids += [merchant.merchant_id for merchant in page]
    return merchant_ids
