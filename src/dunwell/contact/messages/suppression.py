"""The suppression list: addresses that are no longer contacted, and debtors who are reported
dead."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal

import msgspec

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.configuration import CHANNELS, Channel
from dunwell.accounts.merchants.rights import Right
from dunwell.contact.messages.identities import (
    DebtorPerson,
    digest_address,
    list_identities,
    mask_address,
    normalize_address,
)
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Connection
from dunwell.platform.database.listed_table import ListedTable, ListPage
from dunwell.platform.database.lists import list_page
from dunwell.platform.database.sql import compose
from dunwell.platform.errors import EditConflict, Fault, NotFound, ValidationError
from dunwell.platform.text.texts import is_email_address

SuppressionReason = Literal["BOUNCE", "DEBTOR", "MERCHANT", "OPERATOR", "WRONG_PERSON"]
# Why an address was removed from the list.
LiftReason = Literal["ADDRESS_WORKS", "DEBTOR_AGREED", "BY_MISTAKE", "OTHER"]
# The failure of a contact whose address was suppressed after planning.
SUPPRESSED = "suppressed"

_NUMBER = re.compile(r"\+[1-9][0-9]{5,14}")
# A street, a comma and a city.
_POSTAL = re.compile(r"[^,]*\w[^,]*,.*\w.*")
_CHANNELS = ", ".join(f"'{channel}'" for channel in CHANNELS)

_INSERT = """
INSERT INTO suppressions
    (merchant_id, channel, address_digest, masked_address, reason, created_at, actor_kind, actor_id,
     key_version)
SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9
WHERE NOT EXISTS (
    SELECT FROM suppressions
    WHERE merchant_id = $1 AND channel = $2 AND address_digest = ANY($10::bytea[]))
ON CONFLICT (merchant_id, channel, address_digest) DO NOTHING
RETURNING channel
"""
_DELETE = """
DELETE FROM suppressions
WHERE merchant_id = $1 AND channel = $2 AND address_digest = ANY($3::bytea[])
RETURNING channel
"""
# Uses the primary key. Deletes the entry that was shown, not one that was created since.
_DELETE_LISTED = """
DELETE FROM suppressions
WHERE merchant_id = $1 AND channel = $2 AND address_digest = $3 AND created_at = $4
RETURNING masked_address, reason, created_at
"""
_LIST = """
SELECT channel, masked_address, reason, created_at, actor_kind, actor_id
FROM suppressions
WHERE merchant_id = $1
ORDER BY created_at, channel, address_digest
"""
# Uses the primary key, therefore every channel is named.
_LOAD_LISTED = compose(
    """
SELECT address_digest, channel, masked_address, reason, created_at, actor_kind, actor_id
FROM suppressions
WHERE merchant_id = $1 AND channel IN ({channels}) AND address_digest = ANY($2::bytea[])
""",
    channels=_CHANNELS,
)
# Uses the primary key, therefore every channel is named. A debtor's page nests this statement; $2
# are the digests known to its session.
LOAD_KNOWN = compose(
    """
SELECT $2 AS known,
       (SELECT coalesce(json_object_agg(listed.address_digest, listed.reason), '{}')
        FROM suppressions listed
        WHERE listed.merchant_id = $1 AND listed.channel IN ({channels})
          AND listed.address_digest = ANY($2)) AS found
""",
    channels=_CHANNELS,
)
# Uses the primary key.
_FIND = """
SELECT s.merchant_id, s.channel, s.address_digest, s.reason
FROM unnest($1::integer[], $2::text[], $3::bytea[]) AS a (merchant_id, channel, address_digest)
JOIN suppressions s
    ON s.merchant_id = a.merchant_id AND s.channel = a.channel
    AND s.address_digest = a.address_digest
"""


class KnownSuppressions(msgspec.Struct, frozen=True, gc=False):
    """The result of `LOAD_KNOWN`: the digests that were looked up, and the reasons of those that
    are suppressed. Digests are in PostgreSQL's notation."""

    known: list[str]
    found: dict[str, SuppressionReason]

    def covers(self, digests: Collection[bytes]) -> bool:
        """Return whether all these digests were looked up."""
        return all(_encode_digest(digest) in self.known for digest in digests)

    def find_reason(self, digests: Collection[bytes]) -> SuppressionReason | None:
        """Return the reason for suppressing an address with these digests, or None."""
        reasons = (self.found.get(_encode_digest(digest)) for digest in digests)
        return next(filter(None, reasons), None)


@dataclass(frozen=True, slots=True)
class SuppressionEntry:
    channel: Channel
    masked_address: str
    reason: SuppressionReason
    created_at: datetime
    # Who suppressed the address: the kind of actor, and its id if it has one.
    actor_kind: str
    actor_id: str | None
    # The digest of the address; empty in the result of `list_all_suppressions`.
    digest: bytes = field(default=b"", repr=False)


async def suppress(
    work: Work, keys: KeyRing, channel: Channel, address: str, reason: SuppressionReason
) -> bool:
    """Suppress an address: planned contacts are not sent to it. Return False if it was already
    suppressed.

    The address of a letter has the form "street, postal code and city", without a name. Raises
    ValidationError.
    """
    work.require(Right.CONTACT_SETTINGS)
    check_address(channel, address)
    digests = digest_address(keys, work.merchant_id, channel, address)
    saved = await work.tx.fetchval(
        _INSERT, work.merchant_id, channel, digests[0],
        mask_address(channel, address), reason, work.now, work.actor.kind, work.actor.actor_id,
        keys.version, digests,
    )  # fmt: skip
    if saved is None:
        return False
    await save_audit(
        work, "address.suppress", f"channel:{channel}",
        after={"address": mask_address(channel, address), "reason": reason}, reason=reason,
    )  # fmt: skip
    return True


async def lift_suppression(work: Work, keys: KeyRing, channel: Channel, address: str) -> None:
    """Remove an address from the list. Raises ValidationError; NotFound if it is not on the
    list."""
    work.require(Right.CONTACT_SETTINGS)
    check_address(channel, address)
    digests = digest_address(keys, work.merchant_id, channel, address)
    if await work.tx.fetchval(_DELETE, work.merchant_id, channel, digests) is None:
        raise NotFound(
            f"This address is not suppressed for {channel}. Check the address and the channel."
        )
    before = {"address": mask_address(channel, address)}
    await save_audit(work, "address.lift", f"channel:{channel}", before=before)


async def lift_suppression_entry(
    work: Work, channel: Channel, digest: bytes, *, seen_created_at: datetime, reason: LiftReason
) -> None:
    """Remove an entry of the list by its digest, because only the masked address is shown.

    `seen_created_at` is the `created_at` of the entry that was shown. Raises EditConflict if that
    entry was removed, or removed and added again, since then.
    """
    work.require(Right.CONTACT_SETTINGS)
    row = await work.tx.fetchrow(_DELETE_LISTED, work.merchant_id, channel, digest, seen_created_at)
    if row is None:
        raise EditConflict("Someone else has already removed this address or added it again.")
    await save_audit(
        work, "address.lift", f"channel:{channel}",
        before={"address": row["masked_address"], "reason": row["reason"],
                "since": row["created_at"].isoformat()},
        reason=reason,
    )  # fmt: skip


async def list_all_suppressions(tx: Connection, merchant_id: int) -> list[SuppressionEntry]:
    """List all entries of a merchant, without their digests, the oldest first."""
    return [SuppressionEntry(**dict(row)) for row in await tx.fetch(_LIST, merchant_id)]


async def load_suppression_entries(
    tx: Connection, merchant_id: int, digests: Sequence[bytes]
) -> dict[bytes, SuppressionEntry]:
    """Load entries by digest."""
    rows = await tx.fetch(_LOAD_LISTED, merchant_id, list(digests))
    return {digest: replace(SuppressionEntry(*values), digest=digest) for digest, *values in rows}


async def load_suppressed_addresses(
    tx: Connection,
    keys: KeyRing,
    merchant_id: int,
    addresses: Collection[tuple[Channel, str]],
) -> set[tuple[Channel, str]]:
    """Return those of the addresses that are suppressed."""
    return set(await load_suppression_reasons(tx, keys, merchant_id, addresses))


async def load_suppression_reasons(
    tx: Connection,
    keys: KeyRing,
    merchant_id: int,
    addresses: Collection[tuple[Channel, str]],
) -> dict[tuple[Channel, str], SuppressionReason]:
    """Return the suppressed addresses with the reason of each."""
    own_addresses = [(merchant_id, channel, address) for channel, address in addresses]
    reasons = await load_suppression_reasons_of_merchants(tx, keys, own_addresses)
    return {(channel, address): reason for (_, channel, address), reason in reasons.items()}


async def load_suppression_reasons_of_merchants(
    tx: Connection, keys: KeyRing, addresses: Collection[tuple[int, Channel, str]]
) -> dict[tuple[int, Channel, str], SuppressionReason]:
    """Return the suppressed addresses of several merchants with the reason of each."""
    if not addresses:
        return {}
    digests = {address: digest_address(keys, *address) for address in addresses}
    entry_keys = [
        (merchant_id, channel, digest)
        for (merchant_id, channel, _), own_digests in digests.items()
        for digest in own_digests
    ]
    rows = await tx.fetch(_FIND, *map(list, zip(*entry_keys, strict=True)))
    reasons = {
        (merchant_id, channel, digest): reason for merchant_id, channel, digest, reason in rows
    }
    return {
        address: reasons[*address[:2], digest]
        for address, own_digests in digests.items()
        for digest in own_digests
        if (*address[:2], digest) in reasons
    }


def check_address(channel: Channel, address: str) -> None:
    """Check that an address has the format of its channel. Raises ValidationError."""
    text = normalize_address(channel, address)
    if channel == "EMAIL" and not is_email_address(text):
        message = "Enter a plain e-mail address, such as erika@example.org."
    elif channel == "SMS" and not _NUMBER.fullmatch(text):
        message = "Enter a number in international format, such as +4915112345678."
    elif channel == "LETTER" and not _POSTAL.fullmatch(address.strip()):
        message = 'Enter street, comma, postal code and city, such as "Heidestraße 17, 51147 Köln".'
    else:
        return
    raise ValidationError([Fault("/address", message, "WRONG_FORMAT")])


def _encode_digest(digest: bytes) -> str:
    return f"\\x{digest.hex()}"


# Uses the primary key.
_LOAD_PERSONS = """
SELECT d.merchant_id, d.claim_id, d.email, d.mobile_number, d.customer_number
FROM unnest($1::integer[], $2::bigint[]) AS asked (merchant_id, claim_id)
JOIN debtors d ON d.merchant_id = asked.merchant_id AND d.claim_id = asked.claim_id
"""
# Uses disputes_stopped.
_FIND_STOPPED = """
SELECT DISTINCT unnest(stopped_identities) AS identity
FROM disputes
WHERE released_at IS NULL AND stopped_identities IS NOT NULL
    AND stopped_identities && $1::bytea[]
"""
# A merchant's id and the id of its claim.
ClaimKey = tuple[int, int]


async def load_person(tx: Connection, merchant_id: int, claim_id: int) -> DebtorPerson:
    """Load the identifying data of the debtor of an existing claim."""
    return (await _load_persons(tx, [(merchant_id, claim_id)]))[merchant_id, claim_id]


async def list_stopped_claims(
    tx: Connection, keys: KeyRing, claims: Collection[ClaimKey]
) -> set[ClaimKey]:
    """Return the claims whose debtor must not be contacted."""
    if not claims:
        return set()
    persons = await _load_persons(tx, claims)
    return await _filter_stopped(tx, keys, persons)


async def _filter_stopped(
    tx: Connection, keys: KeyRing, persons: dict[ClaimKey, DebtorPerson]
) -> set[ClaimKey]:
    """Return the claims of the persons who must not be contacted."""
    identities = {
        claim: set(list_identities(keys, claim[0], person)) for claim, person in persons.items()
    }
    all_identities = sorted({digest for digests in identities.values() for digest in digests})
    stopped = {row["identity"] for row in await tx.fetch(_FIND_STOPPED, all_identities)}
    return {claim for claim, digests in identities.items() if not stopped.isdisjoint(digests)}


async def _load_persons(
    tx: Connection, claims: Collection[ClaimKey]
) -> dict[ClaimKey, DebtorPerson]:
    rows = await tx.fetch(_LOAD_PERSONS, *map(list, zip(*claims, strict=True)))
    return {
        (row["merchant_id"], row["claim_id"]): DebtorPerson(
            row["claim_id"], row["email"], row["mobile_number"], row["customer_number"]
        )
        for row in rows
    }


@dataclass(frozen=True, slots=True)
class SuppressionFilter:
    """Filters for entries; all that are given apply. `since` and `until` limit `created_at`;
    `until` is exclusive."""

    channel: Channel | None = None
    reason: SuppressionReason | None = None
    since: datetime | None = None
    until: datetime | None = None


# The digest alone identifies an entry, because it also depends on the channel.
SUPPRESSIONS: ListedTable[SuppressionFilter, bytes, SuppressionEntry] = ListedTable(
    name="suppressions",
    table="suppressions",
    key="address_digest",
    key_type="bytea",
    index="suppressions_list",
    at="created_at",
    filter=SuppressionFilter,
    filters={"channel": "l.channel = {}", "reason": "l.reason = {}"},
    load=load_suppression_entries,
)
NO_SUPPRESSION_FILTER = SuppressionFilter()


async def list_suppressions(
    work: Work, *, limit: int, cursor: str | None = None,
    wanted: SuppressionFilter = NO_SUPPRESSION_FILTER, oldest_first: bool = False,
) -> ListPage[SuppressionEntry]:  # fmt: skip
    """List the suppressed addresses, the newest first unless `oldest_first`. Raises ValidationError
    for an invalid cursor."""
    work.require(Right.READ_CLAIMS)
    return await list_page(
        work.scope(), SUPPRESSIONS, wanted, limit=limit, cursor=cursor, oldest_first=oldest_first
    )


async def get_suppression(work: Work, channel: Channel, digest: bytes) -> SuppressionEntry:
    """Return an entry of the list. Raises NotFound."""
    work.require(Right.READ_CLAIMS)
    entry = (await load_suppression_entries(work.tx, work.merchant_id, [digest])).get(digest)
    if entry is None or entry.channel != channel:
        raise NotFound("This address is not on the suppression list.")
    return entry
