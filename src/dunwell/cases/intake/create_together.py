"""Create the claims of concurrent requests: those of one merchant share a statement and its commit.

Claim ids are reserved beforehand. If the result of a commit is lost, the request is repeated:
claims that exist under the ids reserved for it were created by it and are no duplicates.
"""

import asyncio
from collections.abc import Sequence

import asyncpg

from dunwell.accounts.merchants.account import Work, check_right
from dunwell.accounts.merchants.actor import Actor
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.intake.check_claims import RejectedSubmission
from dunwell.cases.intake.create_claims import (
    ClaimIds,
    CreationRequest,
    CreationResult,
    create_requests,
)
from dunwell.cases.intake.submission import ClaimSubmission
from dunwell.platform.request_batcher import RequestBatcher
from dunwell.platform.resources import Resources

# Larger requests are not shared, because the others would wait for all their claims.
_MAX_SHARED_CLAIMS = 20
# The maximum number of claims in a shared statement.
_MAX_BATCH = 200
# The maximum number of large requests at a time, so that connections are left for others.
_MAX_LARGE_REQUESTS = 4


class _IntakeRequest(CreationRequest):
    """A request with its merchant."""

    def __init__(
        self,
        merchant: Merchant,
        actor: Actor,
        submissions: Sequence[ClaimSubmission | RejectedSubmission],
    ) -> None:
        super().__init__(actor, submissions)
        self.merchant = merchant


class ClaimIntake:
    """Shares statements between the requests of one process. Several processes need no
    coordination."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._ids = ClaimIds()
        self._batcher: RequestBatcher[_IntakeRequest, list[CreationResult]] = RequestBatcher(
            self._create_set, _MAX_BATCH
        )
        self._large = asyncio.Semaphore(_MAX_LARGE_REQUESTS)

    async def create(
        self,
        merchant: Merchant,
        actor: Actor,
        submissions: Sequence[ClaimSubmission | RejectedSubmission],
    ) -> list[CreationResult]:
        """Create claims. Raises what `create_claims` raises."""
        check_right(actor, Right.CHANGE_CLAIMS)
        request = _IntakeRequest(merchant, actor, submissions)
        if len(submissions) > _MAX_SHARED_CLAIMS:
            async with self._large:
                return await self._batcher.answer_alone(request)
        return await self._batcher.ask(
            merchant.merchant_id,
            request,
            size=len(submissions),
            names=frozenset(
                each.reference_number for each in submissions if each.reference_number is not None
            ),
            # Requests share a statement only under the same rules and sandbox time.
            kind=(merchant.revision, merchant.sandbox_now),
        )

    async def _create_set(self, requests: Sequence[_IntakeRequest]) -> list[list[CreationResult]]:
        async with self._resources.database.connection() as connection:
            for each in requests:
                if not each.claim_ids:
                    each.claim_ids = await self._ids.reserve(connection, len(each.submissions))
            first = requests[0]
            # The audit entry of each request names its own actor.
            work = Work.open(self._resources, connection, first.merchant, first.actor)
            try:
                return await create_requests(work, requests)
            except asyncpg.UniqueViolationError:
                # A reserved id was used before, because the sequence was set back.
                self._forget_ids(requests)
                raise

    def _forget_ids(self, requests: Sequence[_IntakeRequest]) -> None:
        self._ids.forget()
        for each in requests:
            each.claim_ids = ()
