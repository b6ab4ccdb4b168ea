"""What a claim's process will do, for its debtor's page: loaded in one statement.

The version's definition comes with it only where this process of ours does not keep it already.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import get_args
from uuid import UUID

from dunwell.escalation.announcing import Announced, list_announced
from dunwell.escalation.due_claim_store import LOAD_FACTS, read_claim
from dunwell.escalation.person_guard import make_person_guard
from dunwell.escalation.process import find_process
from dunwell.escalation.reach import find_usable_channels
from dunwell.escalation.running_claims import OpenContact, RunningClaim, foresee
from dunwell.escalation.usable_channels import Reachable, find_address
from dunwell.kit.crypto import KeyRing
from dunwell.kit.db import Connection, Row
from dunwell.kit.sql import compose, nest
from dunwell.merchants.configuration import Channel
from dunwell.merchants.merchant import Merchant
from dunwell.messages.identities import Person, digest_address, identify
from dunwell.workflows.store import LOAD_NEWEST, find_kept, read_newest

# Of one claim on a process: what the engine asks, its newest version, the contact it waits for, the
# days on which its person was contacted ($4: identities) and which of its addresses ($5) are
# suppressed. Hot: one a claim's page. By primary keys, and the key communications (merchant_id,
# claim_id, run, step_id, place).
_LOAD = compose(
    """
SELECT f.*, v.version_id, v.major, v.minor, v.definition,
       o.step_id AS contact_step_id, o.place, o.channel, o.state, o.not_before,
       (SELECT json_object_agg(encode(g.identity_digest, 'hex'), g.contacted_on)
        FROM contact_guards g
        WHERE g.merchant_id = $1 AND g.identity_digest = ANY($4::bytea[])) AS contacted,
       ARRAY(SELECT s.address_digest
             FROM suppressions s
             WHERE s.merchant_id = $1 AND s.channel IN ({channels})
               AND s.address_digest = ANY($5::bytea[])) AS suppressed
FROM {facts} f
JOIN LATERAL {newest} v ON true
LEFT JOIN LATERAL (
    SELECT m.step_id, m.place, m.channel, m.state, m.not_before
    FROM communications m
    WHERE m.merchant_id = $1 AND m.claim_id = $2 AND m.run = f.run
      AND m.state IN ('PLANNED', 'ATTACHMENT_MISSING', 'HANDED_OVER', 'UNKNOWN')
    ORDER BY m.step_id DESC, m.place DESC
    LIMIT 1) o ON true
""",
    channels=", ".join(f"'{channel}'" for channel in get_args(Channel)),
    facts=nest(LOAD_FACTS, "$1", "ARRAY[$2]::bigint[]"),
    newest=nest(
        LOAD_NEWEST, "$1", "ARRAY[f.workflow_id]", "ARRAY[f.workflow_major]", "ARRAY[$3]::uuid[]"
    ),
)


@dataclass(frozen=True, slots=True)
class Foreseeable:
    """An active claim on a process, as its page knows it."""

    person: Person
    reachable: Reachable
    # Workflow and major.
    process_key: tuple[UUID, int]
    is_held: bool
    # The latest end of its holds, if each has one.
    held_until: datetime | None


async def foresee_claim(
    tx: Connection, keys: KeyRing, merchant: Merchant, claim: Foreseeable, now: datetime
) -> list[Announced]:
    """What its debtor is told of what comes if nothing is paid."""
    merchant_id, claim_id = merchant.merchant_id, claim.person.claim_id
    identities = identify(keys, merchant_id, claim.person)
    digests = {
        channel: digest_address(keys, merchant_id, channel, address)
        for channel in get_args(Channel)
        if (address := find_address(claim.reachable, channel))
    }
    known = find_kept(merchant_id, claim.process_key)
    asked = [digest for each in digests.values() for digest in each]
    known_id = known and known.version_id
    row = await tx.fetchrow(_LOAD, merchant_id, claim_id, known_id, identities, asked)
    if row is None:
        return []
    version = read_newest(row, merchant_id, known)
    process = find_process(version, merchant.configuration.timezone)
    suppressed = set(row["suppressed"])
    channels = find_usable_channels(
        merchant.configuration.channels,
        email=row["email"], mobile_number=row["mobile_number"], address=row["address"],
    )  # fmt: skip
    usable = frozenset(each for each in channels if suppressed.isdisjoint(digests.get(each, ())))
    running = RunningClaim(
        facts=read_claim(row, usable),
        person="",
        is_held=claim.is_held,
        held_until=claim.held_until,
        open_contact=_read_contact(row),
    )
    guard = make_person_guard(merchant.configuration, identities, _read_contacted(row["contacted"]))
    return list_announced(foresee(process, running, now, guard), process.calendar)


def _read_contact(row: Row) -> OpenContact | None:
    if row["contact_step_id"] is None:
        return None
    return OpenContact(
        step_id=row["contact_step_id"],
        place=row["place"],
        channel=row["channel"],
        state=row["state"],
        not_before=row["not_before"],
    )


def _read_contacted(found: Mapping[str, Sequence[str]] | None) -> dict[bytes, Sequence[date]]:
    return {
        bytes.fromhex(identity): [date.fromisoformat(day) for day in days]
        for identity, days in (found or {}).items()
    }
