"""Checks a merchant's ledger of contacts against the contacts themselves: nobody contacted twice,
nothing settled that the ledger does not tell, nothing told of a contact that never was, and every
stored message as it was handed over. An erased claim's rows stand for themselves.
"""

from collections.abc import AsyncIterator

from dunwell.kit.crypto import KeyRing
from dunwell.kit.db import Connection, Row
from dunwell.messages.contact import Content
from dunwell.messages.ledger import digest_content, digest_recipient
from dunwell.messages.ledger_findings import Fault, Finding, Findings
from dunwell.messages.ledger_store import PATIENCE_SECONDS

# A contact is accepted, refused and reported as failed once at most. Does not rely on the index
# contact_ledger_once, which may be gone.
_TWICE = """
SELECT claim_id, run, step_id, place, kind, count(*) AS rows,
       string_agg(DISTINCT communication_id::text, ', ') AS communications
FROM (SELECT *, CASE outcome WHEN 'SETTLED_SENT' THEN 'ACCEPTED' ELSE outcome END AS kind
      FROM contact_ledger WHERE merchant_id = $1) told
WHERE kind IN ('ACCEPTED', 'REFUSED', 'FAILED_LATER')
GROUP BY claim_id, run, step_id, place, kind
HAVING count(*) > 1
ORDER BY claim_id, run, step_id, place
"""
# What the ledger tells of each contact, beside the contact's state. A contact settled before there
# was a ledger has no digest, and one refused before it was handed over has no row.
_CONTRADICTIONS = """
WITH told AS (
    SELECT communication_id,
        CASE WHEN count(*) FILTER (WHERE outcome = 'UNKNOWN')
                > count(*) FILTER (WHERE outcome IN ('SETTLED_SENT', 'SETTLED_NOT_SENT'))
             THEN 'UNKNOWN'
             WHEN bool_or(outcome IN ('REFUSED', 'FAILED_LATER')) THEN 'FAILED'
             WHEN bool_or(outcome IN ('ACCEPTED', 'SETTLED_SENT')) THEN 'ACCEPTED' END AS state
    FROM contact_ledger
    WHERE merchant_id = $1
    GROUP BY communication_id
)
SELECT m.communication_id, m.claim_id, m.state, told.state AS told
FROM communications m
LEFT JOIN told USING (communication_id)
WHERE m.merchant_id = $1
  AND told.state IS DISTINCT FROM
      CASE WHEN m.state IN ('ACCEPTED', 'FAILED', 'UNKNOWN') THEN m.state END
  AND (told.state IS NOT NULL OR (m.handed_over_at IS NOT NULL AND m.content_digest IS NOT NULL))
ORDER BY m.communication_id
"""
_WITHOUT_CONTACT = """
SELECT l.entry_id, l.communication_id, l.claim_id, l.outcome
FROM contact_ledger l
JOIN claims c ON c.merchant_id = $1 AND c.claim_id = l.claim_id
LEFT JOIN communications m ON m.merchant_id = $1 AND m.communication_id = l.communication_id
WHERE l.merchant_id = $1
  AND (m.claim_id, m.run, m.step_id, m.place)
      IS DISTINCT FROM (l.claim_id, l.run, l.step_id, l.place)
ORDER BY l.entry_id
"""
_OTHER_DIGESTS = """
SELECT l.communication_id, l.claim_id,
       l.content_digest IS DISTINCT FROM m.content_digest AS is_content
FROM contact_ledger l
JOIN communications m ON m.merchant_id = $1 AND m.communication_id = l.communication_id
WHERE l.merchant_id = $1 AND m.state IN ('ACCEPTED', 'FAILED')
  AND l.outcome IN ('ACCEPTED', 'SETTLED_SENT', 'REFUSED', 'FAILED_LATER')
  AND (l.recipient_digest, l.content_digest)
      IS DISTINCT FROM (m.recipient_digest, m.content_digest)
ORDER BY l.communication_id
"""
_CONTENTS = """
SELECT m.communication_id, m.claim_id, m.channel, m.recipient_digest, m.content_digest, t.recipient,
       t.language, t.subject, t.body_text, t.body_html, t.document_key, t.attachment_ids
FROM communication_contents t
JOIN communications m ON m.merchant_id = $1 AND m.communication_id = t.communication_id
WHERE t.merchant_id = $1 AND m.content_digest IS NOT NULL
"""
_ROWS_AT_ONCE = 200


async def check_contacts(
    tx: Connection, keys: KeyRing, merchant_id: int, findings: Findings
) -> None:
    """Within a transaction of one snapshot."""
    async for row in _stream(tx, _TWICE, merchant_id):
        findings.add(_describe_twice(row))
    async for row in _stream(tx, _CONTRADICTIONS, merchant_id):
        told = f"tells {row['told']}" if row["told"] else "does not tell of it"
        words = f"is {row['state']}, but the ledger {told}"
        findings.add(_describe(Fault.CONTACT_CONTRADICTS, row, words))
    async for row in _stream(tx, _WITHOUT_CONTACT, merchant_id):
        words = f"is not there as contact_ledger {row['entry_id']} ({row['outcome']}) tells it"
        findings.add(_describe(Fault.CONTACT_MISSING, row, words))
    async for row in _stream(tx, _OTHER_DIGESTS, merchant_id):
        fault = Fault.CONTENT_ALTERED if row["is_content"] else Fault.RECIPIENT_ALTERED
        findings.add(_describe(fault, row, "bears other digests than its row of the ledger"))
    async for row in _stream(tx, _CONTENTS, merchant_id):
        _check_content(keys, merchant_id, row, findings)


def _stream(tx: Connection, statement: str, merchant_id: int) -> AsyncIterator[Row]:
    cursor: AsyncIterator[Row] = aiter(
        tx.cursor(statement, merchant_id, prefetch=_ROWS_AT_ONCE, timeout=PATIENCE_SECONDS)
    )
    return cursor


def _check_content(keys: KeyRing, merchant_id: int, row: Row, findings: Findings) -> None:
    recipient = digest_recipient(keys, merchant_id, row["channel"], row["recipient"])
    if recipient != row["recipient_digest"]:
        words = "is stored with another recipient than it was handed over for"
        findings.add(_describe(Fault.RECIPIENT_ALTERED, row, words))
    content = Content(
        row["recipient"], row["language"], row["subject"], row["body_text"], row["body_html"],
        row["document_key"], tuple(row["attachment_ids"]),
    )  # fmt: skip
    if digest_content(keys, merchant_id, content.parts) != row["content_digest"]:
        words = "is stored with another text than it was handed over with"
        findings.add(_describe(Fault.CONTENT_ALTERED, row, words))


def _describe_twice(row: Row) -> Finding:
    step = f"claim {row['claim_id']}, run {row['run']}, step {row['step_id']}"
    contacts = f"communication {row['communications']}"
    words = f"{step}, place {row['place']} ({contacts}) is {row['kind']} {row['rows']} times"
    return Finding(Fault.CONTACTED_TWICE, words)


def _describe(fault: Fault, row: Row, words: str) -> Finding:
    return Finding(
        fault, f"communication {row['communication_id']} of claim {row['claim_id']} {words}"
    )
