"""The SQL of a claim's forecast."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from uuid import UUID

from dunwell.accounts.merchants.configuration import CHANNELS
from dunwell.contact.escalation.forecast.running_claim import AwaitedContact
from dunwell.contact.escalation.store import LOAD_FACTS
from dunwell.core.workflows.store import LOAD_NEWEST
from dunwell.platform.database.database import Connection, Row
from dunwell.platform.database.sql import compose, nest

# Load the facts of one claim for its forecast: those of the engine, the newest version, the open
# contact, the days on which its debtor was contacted ($4: digests of identities) and which of its
# addresses ($5: digests) are suppressed. Runs once for each view of a claim page. Uses primary
# keys, and the key communications (merchant_id, claim_id, run, step_id, place).
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
    channels=", ".join(f"'{channel}'" for channel in CHANNELS),
    facts=nest(LOAD_FACTS, "$1", "ARRAY[$2]::bigint[]"),
    newest=nest(
        LOAD_NEWEST, "$1", "ARRAY[f.workflow_id]", "ARRAY[f.workflow_major]", "ARRAY[$3]::uuid[]"
    ),
)


@dataclass(frozen=True, slots=True)
class ForecastFacts:
    """The facts of one claim. `row` is the input of `build_due_claim` and `build_newest_version`;
    `suppressed` holds digests of addresses; `contacted` holds the contact days of each identity."""

    row: Row
    suppressed: frozenset[bytes]
    contacted: Mapping[bytes, Sequence[date]]
    open_contact: AwaitedContact | None


async def load_forecast_facts(
    tx: Connection, merchant_id: int, claim_id: int, *, known_id: UUID | None,
    identities: Sequence[bytes], addresses: Sequence[bytes],
) -> ForecastFacts | None:  # fmt: skip
    """Load the facts of the claim, or return None if it does not exist.

    `known_id` is the id of the cached version, whose definition is not loaded. `addresses` are
    digests.
    """
    row = await tx.fetchrow(_LOAD, merchant_id, claim_id, known_id, identities, addresses)
    if row is None:
        return None
    return ForecastFacts(
        row=row,
        suppressed=frozenset(row["suppressed"]),
        contacted=_build_contact_days(row["contacted"]),
        open_contact=_build_open_contact(row),
    )


def _build_open_contact(row: Row) -> AwaitedContact | None:
    if row["contact_step_id"] is None:
        return None
    return AwaitedContact(
        step_id=row["contact_step_id"],
        place=row["place"],
        channel=row["channel"],
        state=row["state"],
        not_before=row["not_before"],
    )


def _build_contact_days(found: Mapping[str, Sequence[str]] | None) -> dict[bytes, Sequence[date]]:
    return {
        bytes.fromhex(identity): [date.fromisoformat(day) for day in days]
        for identity, days in (found or {}).items()
    }
