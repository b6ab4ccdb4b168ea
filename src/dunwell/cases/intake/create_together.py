"""Creates the claims of requests that arrive together: one merchant's share a statement and its
commit.

Ids are drawn beforehand, so that a request whose commit's outcome was lost finds out by sending
itself again: what it finds under its own ids it has created, and that is no duplicate.
"""

import asyncio
from collections.abc import Sequence

import asyncpg

from dunwell.accounts.merchants.account import Work, check_right
from dunwell.accounts.merchants.actor import Actor
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.accounts.merchants.request_sets import Gathering
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.intake.check_claims import RejectedSubmission
from dunwell.cases.intake.create_claims import (
    ClaimIds,
    CreationRequest,
    CreationResult,
    create_requests,
)
from dunwell.cases.intake.submission import ClaimSubmission
from dunwell.platform.resources import Resources

# A request of more claims shares with nobody: others would wait for all of them.
_MAX_SHARED_CLAIMS = 20
# Of one set.
_MAX_BATCH = 200
# So many of the larger ones at a time: connections are left for the others.
_MAX_LARGE_REQUESTS = 4


class _IntakeRequest(CreationRequest):
    """A request of one merchant."""

    def __init__(
        self,
        merchant: Merchant,
        actor: Actor,
        submissions: Sequence[ClaimSubmission | RejectedSubmission],
    ) -> None:
        super().__init__(actor, submissions)
        self.merchant = merchant


class ClaimIntake:
    """Of one process; several need not know of each other."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._ids = ClaimIds()
        self._gathering: Gathering[_IntakeRequest, list[CreationResult]] = Gathering(
            self._create_set, _MAX_BATCH
        )
        self._large = asyncio.Semaphore(_MAX_LARGE_REQUESTS)

    async def create(
        self,
        merchant: Merchant,
        actor: Actor,
        submissions: Sequence[ClaimSubmission | RejectedSubmission],
    ) -> list[CreationResult]:
        """As `create_claims`. Raises what it does."""
        check_right(actor, Right.CHANGE_CLAIMS)
        asked = _IntakeRequest(merchant, actor, submissions)
        if len(submissions) > _MAX_SHARED_CLAIMS:
            async with self._large:
                return await self._gathering.ask_alone(asked)
        return await self._gathering.ask(
            merchant.merchant_id,
            asked,
            size=len(submissions),
            names=frozenset(
                each.reference_number for each in submissions if each.reference_number is not None
            ),
            # All of a set go by the same rules and the same clock.
            kind=(merchant.revision, merchant.sandbox_now),
        )

    async def _create_set(self, requests: Sequence[_IntakeRequest]) -> list[list[CreationResult]]:
        async with self._resources.database.connection() as connection:
            for each in requests:
                if not each.claim_ids:
                    each.claim_ids = await self._ids.take(connection, len(each.submissions))
            first = requests[0]
            # Whoever sent a request is written in that request's row of the audit log.
            work = Work.open(self._resources, connection, first.merchant, first.actor)
            try:
                return await create_requests(work, requests)
            except asyncpg.UniqueViolationError:
                # Ids that were given away already: the sequence was set back under us.
                self._forget_ids(requests)
                raise

    def _forget_ids(self, requests: Sequence[_IntakeRequest]) -> None:
        self._ids.forget()
        for each in requests:
            each.claim_ids = ()
