"""Who must not be contacted about any claim of a merchant because the person is said to have died
(`disputes.withheld`).

A person is known by the identities that guards know. Contacts of workflows ask in the statement
that locks them (`escalation`); this is what everything else asks that writes to a debtor.
"""

from collections.abc import Collection

from dunwell.contact.messages.identities import Person, identify
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Connection

# By primary key.
_LOAD_PERSONS = """
SELECT d.merchant_id, d.claim_id, d.email, d.mobile_number, d.customer_number
FROM unnest($1::integer[], $2::bigint[]) AS asked (merchant_id, claim_id)
JOIN debtors d ON d.merchant_id = asked.merchant_id AND d.claim_id = asked.claim_id
"""
# Rides on disputes_stopped.
_FIND_STOPPED = """
SELECT DISTINCT unnest(stopped_identities) AS identity
FROM disputes
WHERE released_at IS NULL AND stopped_identities IS NOT NULL
    AND stopped_identities && $1::bytea[]
"""
# A claim of a merchant.
ClaimKey = tuple[int, int]


async def load_person(tx: Connection, merchant_id: int, claim_id: int) -> Person:
    """The debtor of a claim that exists."""
    return (await _load_persons(tx, [(merchant_id, claim_id)]))[merchant_id, claim_id]


async def find_stopped_claims(
    tx: Connection, keys: KeyRing, claims: Collection[ClaimKey]
) -> set[ClaimKey]:
    """Those whose debtor must not be contacted."""
    if not claims:
        return set()
    persons = await _load_persons(tx, claims)
    return await find_stopped(tx, keys, persons)


async def find_stopped(
    tx: Connection, keys: KeyRing, persons: dict[ClaimKey, Person]
) -> set[ClaimKey]:
    """The claims of those persons who must not be contacted."""
    known = {key: set(identify(keys, key[0], person)) for key, person in persons.items()}
    asked = sorted({digest for each in known.values() for digest in each})
    stopped = {row["identity"] for row in await tx.fetch(_FIND_STOPPED, asked)}
    return {key for key, digests in known.items() if not stopped.isdisjoint(digests)}


async def _load_persons(tx: Connection, claims: Collection[ClaimKey]) -> dict[ClaimKey, Person]:
    rows = await tx.fetch(_LOAD_PERSONS, *map(list, zip(*claims, strict=True)))
    return {
        (row["merchant_id"], row["claim_id"]): Person(
            row["claim_id"], row["email"], row["mobile_number"], row["customer_number"]
        )
        for row in rows
    }
