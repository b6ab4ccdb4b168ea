"""Runs what is due, in sets: load the facts of many claims, decide each purely, write all at once.

Any number of engines may run on any number of hosts: a set's claims are locked, and passed over by
the others (SKIP LOCKED). A crash rolls the set back; it is still due. Merchants take turns, so that
one merchant's million never starves another.
"""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import structlog

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import SYSTEM
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.accounts.merchants.store import load_merchant
from dunwell.contact.escalation.due_claim import DueClaim, find_position
from dunwell.contact.escalation.due_claim_store import (
    find_due_claims,
    find_due_merchants,
    load_due_claims,
    postpone,
)
from dunwell.contact.escalation.process import find_process
from dunwell.contact.escalation.record_decisions import DecidedClaim, record_decisions
from dunwell.contact.escalation.schedule import decide
from dunwell.core.workflows.store import load_newest
from dunwell.core.workflows.versions.versions import Version
from dunwell.platform.errors import Unavailable
from dunwell.platform.resources import Resources

SET_SIZE = 500
_MERCHANTS_PER_TURN = 50

log = structlog.get_logger(__name__)


class Engine:
    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._last_merchant_id = 0

    async def run_once(self) -> int:
        """One set for each of the merchants whose turn it is; how many steps were decided."""
        now = self._resources.clock.now()
        async with self._resources.database.connection() as connection:
            merchant_ids = await find_due_merchants(
                connection, now, self._last_merchant_id, _MERCHANTS_PER_TURN
            )
        steps = 0
        for merchant_id in merchant_ids:
            self._last_merchant_id = merchant_id
            steps += await self.run_set(merchant_id)
        return steps

    async def run_set(self, merchant_id: int) -> int:
        """One transaction over at most SET_SIZE due claims of one merchant; if that cannot commit,
        one for each claim, so that one claim's fault keeps back neither its set nor others."""
        try:
            return await self._run(merchant_id, None)
        except Unavailable:
            raise
        except Exception as error:
            log.exception("set failed", merchant_id=merchant_id, error=type(error).__name__)
        async with self._resources.database.connection() as connection:
            now = self._resources.clock.now()
            claim_ids = await find_due_claims(connection, merchant_id, now, SET_SIZE)
        return sum([await self._run_alone(merchant_id, claim_id) for claim_id in claim_ids])

    async def _run_alone(self, merchant_id: int, claim_id: int) -> int:
        try:
            return await self._run(merchant_id, claim_id)
        except Unavailable:
            raise
        except Exception as error:
            log.exception("claim failed", claim_id=claim_id, error=type(error).__name__)
        async with self._resources.database.transaction() as tx:
            await postpone(tx, merchant_id, [claim_id], self._resources.clock.now())
        return 0

    async def _run(self, merchant_id: int, claim_id: int | None) -> int:
        resources = self._resources
        async with resources.database.transaction() as tx:
            merchant = await load_merchant(tx, merchant_id)
            if merchant is None:
                return 0
            work = Work.open(resources, tx, merchant, SYSTEM)
            claims = await load_due_claims(
                tx,
                resources.keys,
                merchant=merchant,
                now=work.now,
                limit=SET_SIZE,
                claim_id=claim_id,
            )
            if not claims:
                return 0
            versions = await load_newest(tx, merchant_id, {claim.process_key for claim in claims})
            decided, undecidable = _decide_all(merchant, claims, versions, work.now)
            await record_decisions(work, decided)
            if undecidable:
                await postpone(tx, merchant_id, undecidable, work.real_now)
            steps = sum(len(each.decision.outcomes) for each in decided)
            await save_audit(
                work, "escalation.run", f"merchant:{merchant_id}", claims=len(claims), steps=steps
            )
        return steps


def _decide_all(
    merchant: Merchant,
    claims: Sequence[DueClaim],
    versions: dict[tuple[UUID, int], Version],
    now: datetime,
) -> tuple[list[DecidedClaim], list[int]]:
    """Decisions, and the claims that none could be made for: they must not stop the others."""
    decided, undecidable = [], []
    for claim in claims:
        try:
            decided.append(_decide_one(merchant, claim, versions[claim.process_key], now))
        except Exception as error:
            log.exception("cannot be decided", claim_id=claim.claim_id, error=type(error).__name__)
            undecidable.append(claim.claim_id)
    return decided, undecidable


def _decide_one(
    merchant: Merchant, claim: DueClaim, version: Version, now: datetime
) -> DecidedClaim:
    process = find_process(version, merchant.configuration)
    today = process.calendar.local_date(now)
    facts = claim.step_facts(today)
    decision = decide(process, find_position(process, claim), facts, now)
    return DecidedClaim(claim, version.version_id, decision, today)
