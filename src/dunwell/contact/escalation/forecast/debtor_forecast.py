"""Forecast one claim for its debtor's page, with a single statement.

The statement returns the definition of the version only if it is not in the cache of this process.
"""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from dunwell.accounts.merchants.configuration import CHANNELS
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.contact.escalation.due_claim import list_usable_channels
from dunwell.contact.escalation.forecast.forecast import Announcement, list_announcements
from dunwell.contact.escalation.forecast.person_guard import build_person_guard
from dunwell.contact.escalation.forecast.running_claim import RunningClaim, forecast_claim
from dunwell.contact.escalation.forecast.store import load_forecast_facts
from dunwell.contact.escalation.prepared_workflow import get_prepared_workflow
from dunwell.contact.escalation.store import build_due_claim
from dunwell.contact.escalation.usable_channels import HasAddresses, find_address
from dunwell.contact.messages.identities import DebtorPerson, digest_address, list_identities
from dunwell.core.workflows.store import build_newest_version, find_cached_version
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Connection


@dataclass(frozen=True, slots=True)
class ForecastRequest:
    """The facts of an active claim that the debtor's page has already loaded."""

    person: DebtorPerson
    addresses: HasAddresses
    # The id of the workflow and its major version.
    workflow_key: tuple[UUID, int]
    is_held: bool
    # The latest end of the claim's holds; None without a hold, or if a hold has no end.
    held_until: datetime | None


async def forecast_for_debtor(
    tx: Connection, keys: KeyRing, merchant: Merchant, claim: ForecastRequest, now: datetime
) -> list[Announcement]:
    """List what the debtor is shown about the steps that follow if nothing is paid."""
    merchant_id, claim_id = merchant.merchant_id, claim.person.claim_id
    identities = list_identities(keys, merchant_id, claim.person)
    digests = {
        channel: digest_address(keys, merchant_id, channel, address)
        for channel in CHANNELS
        if (address := find_address(claim.addresses, channel))
    }
    cached = find_cached_version(merchant_id, claim.workflow_key)
    all_digests = [digest for each in digests.values() for digest in each]
    known_id = cached.version_id if cached else None
    facts = await load_forecast_facts(
        tx, merchant_id, claim_id, known_id=known_id, identities=identities, addresses=all_digests
    )
    if facts is None:
        return []
    version = build_newest_version(facts.row, merchant_id, cached)
    workflow = get_prepared_workflow(version, merchant.configuration)
    channels = list_usable_channels(
        merchant.configuration.channels,
        email=facts.row["email"], mobile_number=facts.row["mobile_number"],
        address=facts.row["address"],
    )  # fmt: skip
    usable = frozenset(
        each for each in channels if facts.suppressed.isdisjoint(digests.get(each, ()))
    )
    running = RunningClaim(
        facts=build_due_claim(facts.row, usable),
        person="",
        is_held=claim.is_held,
        held_until=claim.held_until,
        open_contact=facts.open_contact,
    )
    guard = build_person_guard(merchant.configuration, identities, facts.contacted)
    return list_announcements(forecast_claim(workflow, running, now, guard), workflow.calendar)
