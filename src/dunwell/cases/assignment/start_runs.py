"""Put claims on a workflow: their old run ends, its unsent contacts with it, a new one begins."""

from collections.abc import Sequence

from dunwell.accounts.merchants.account import Work
from dunwell.cases.assignment.decision import AssignableClaim
from dunwell.cases.assignment.store import save_new_runs
from dunwell.contact.escalation.schedule import first_due
from dunwell.contact.escalation.store import cancel_contacts
from dunwell.core.workflows.versions.versions import Version


async def start_runs(
    work: Work, version: Version, claims: Sequence[AssignableClaim],
    *, rules_version: int | None = None,
) -> None:  # fmt: skip
    """The caller has locked the claims and decided that they can be assigned.

    `rules_version`: of the rules that chose the process; none: it was asked for by name.
    """
    moved = [claim.claim_id for claim in claims if claim.workflow_id is not None]
    if moved:
        await cancel_contacts(
            work.tx, work.merchant_id, moved, work.now, reason="The claim was assigned anew."
        )
    timezone = work.merchant.configuration.timezone
    starts = [
        (
            claim.claim_id,
            first_due(version.definition, timezone, claim.first_primary_due_on, work.now),
        )
        for claim in claims
    ]
    if starts:
        await save_new_runs(
            work.tx,
            work.merchant_id,
            version=version,
            starts=starts,
            now=work.now,
            rules_version=rules_version,
        )
