"""The SQL of lists of mandates, collections and files."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from uuid import UUID

from dunwell.cases.direct_debit.debit_values import Collection, Mandate
from dunwell.cases.direct_debit.files.store import DebitFile, DebitFileState, build_file
from dunwell.cases.direct_debit.store import build_collection, build_mandate
from dunwell.contact.notices.occasions.facts import DebitFacts
from dunwell.platform.database.database import Connection
from dunwell.platform.database.sql import compose


@dataclass(frozen=True, slots=True)
class ListedMandate:
    mandate: Mandate
    # The claim's reference number.
    reference_number: str
    # The provider's id of the mandate. None if the bank collects.
    provider_mandate_id: str | None


@dataclass(frozen=True, slots=True)
class ListedCollection:
    collection: Collection
    # The claim's reference number.
    reference_number: str
    mandate_reference: str
    account_shown: str
    # The kind of the provider that collects, and its id of the payment, once it is ordered. None if
    # the bank collects.
    provider_name: str | None
    provider_payment_id: str | None
    # The id of the file as a message to the bank. None if the collection is in no file.
    message_id: str | None
    # The state and the channel of the message that announces the debit. None if no message was
    # written yet, or it was deleted.
    notice_state: str | None
    notice_channel: str | None


# Uses primary keys.
_LOAD_MANDATES = compose(
    """
SELECT {columns}, c.reference_number, p.provider_mandate_id
FROM mandates m
JOIN claims c ON c.merchant_id = $1 AND c.claim_id = m.claim_id
LEFT JOIN provider_mandates p ON p.merchant_id = $1 AND p.mandate_id = m.mandate_id
WHERE m.merchant_id = $1 AND m.mandate_id = ANY($2::uuid[])
""",
    columns=", ".join(f"m.{each.name}" for each in fields(Mandate)),
)
# Uses primary keys.
_LOAD_COLLECTIONS = compose(
    """
SELECT {columns}, c.reference_number, m.reference AS mandate_reference, m.account_shown,
       m.provider_name, r.provider_reference AS provider_payment_id, f.message_id,
       n.state AS notice_state, n.channel AS notice_channel
FROM debit_collections d
JOIN claims c ON c.merchant_id = $1 AND c.claim_id = d.claim_id
JOIN mandates m ON m.merchant_id = $1 AND m.mandate_id = d.mandate_id
LEFT JOIN payment_requests r ON r.merchant_id = $1 AND r.request_id = d.collection_id
LEFT JOIN debit_files f ON f.merchant_id = $1 AND f.file_id = d.file_id
LEFT JOIN debtor_occasions o ON o.merchant_id = $1 AND o.claim_id = d.claim_id
    AND o.occasion = $3 AND o.subject = d.collection_id::text
LEFT JOIN debtor_notices n ON n.merchant_id = $1 AND n.notice_id = o.notice_id
WHERE d.merchant_id = $1 AND d.collection_id = ANY($2::uuid[])
""",
    columns=", ".join(f"d.{each.name}" for each in fields(Collection)),
)
# A proposal loses collections that are cancelled, so its figures are counted. Uses the primary key
# and the index debit_collections_file.
_LOAD_FILES = compose(
    """
SELECT {columns}, p.debits AS proposed_debits, p.amount_cents AS proposed_cents
FROM debit_files f
LEFT JOIN LATERAL (
    SELECT count(*)::integer AS debits, coalesce(sum(d.amount_cents), 0)::bigint AS amount_cents
    FROM debit_collections d
    WHERE d.merchant_id = $1 AND d.file_id = f.file_id
) p ON f.state = 'PROPOSED'
WHERE f.merchant_id = $1 AND f.file_id = ANY($2::uuid[])
""",
    columns=", ".join(f"f.{each.name}" for each in fields(DebitFile)),
)
# The accounts at providers of the newest mandates. Uses the primary key.
_LIST_ACCOUNTS = """
SELECT DISTINCT provider
FROM (
    SELECT provider
    FROM provider_mandates
    WHERE merchant_id = $1
    ORDER BY mandate_id DESC
    LIMIT $2) newest
ORDER BY provider
"""
# Uses the index debit_collections_releasable.
_COUNT_RELEASABLE = """
SELECT count(*)::integer AS number, min(notified_at) AS oldest_at
FROM (
    SELECT notified_at
    FROM debit_collections
    WHERE merchant_id = $1 AND state = 'PRENOTIFIED' AND file_id IS NULL
    ORDER BY collected_on
    LIMIT $2) counted
"""


async def load_listed_mandates(
    tx: Connection, merchant_id: int, mandate_ids: Sequence[UUID]
) -> dict[UUID, ListedMandate]:
    """Return the mandates by id, each with its claim."""
    mandates = {}
    for row in await tx.fetch(_LOAD_MANDATES, merchant_id, list(mandate_ids)):
        values = dict(row)
        details = {name: values.pop(name) for name in ("reference_number", "provider_mandate_id")}
        mandates[row["mandate_id"]] = ListedMandate(build_mandate(values), **details)
    return mandates


async def load_listed_collections(
    tx: Connection, merchant_id: int, collection_ids: Sequence[UUID]
) -> dict[UUID, ListedCollection]:
    """Return the collections by id, each with its claim, mandate, notice, and file or order."""
    rows = await tx.fetch(_LOAD_COLLECTIONS, merchant_id, list(collection_ids), DebitFacts.template)
    names = [each.name for each in fields(ListedCollection) if each.name != "collection"]
    collections = {}
    for row in rows:
        values = dict(row)
        details = {name: values.pop(name) for name in names}
        collections[row["collection_id"]] = ListedCollection(build_collection(values), **details)
    return collections


async def load_listed_files(
    tx: Connection, merchant_id: int, file_ids: Sequence[UUID]
) -> dict[UUID, DebitFile]:
    """Return the files by id. A proposal has the figures of the collections that it still has."""
    files = {}
    for row in await tx.fetch(_LOAD_FILES, merchant_id, list(file_ids)):
        values = dict(row)
        debits, cents = values.pop("proposed_debits"), values.pop("proposed_cents")
        file = build_file(values)
        if file.state is DebitFileState.PROPOSED:
            file = replace(file, debits=debits, amount_cents=cents)
        files[file.file_id] = file
    return files


async def list_collecting_accounts(tx: Connection, merchant_id: int, limit: int) -> list[str]:
    """Return the accounts at providers to which the newest mandates belong. At most `limit`
    mandates are read."""
    return [row["provider"] for row in await tx.fetch(_LIST_ACCOUNTS, merchant_id, limit)]


async def count_releasable(
    tx: Connection, merchant_id: int, limit: int
) -> tuple[int, datetime | None]:
    """Return how many collections wait for their release, up to `limit`, and when the debtor of the
    first was notified (None if there are none)."""
    row = await tx.fetchrow(_COUNT_RELEASABLE, merchant_id, limit)
    assert row is not None, "an aggregate returns one row"
    return row["number"], row["oldest_at"]
