"""Notify a debtor of an occasion exactly once.

The occasion is stored in the transaction of the use case that it is about. The debtor is therefore
notified if that transaction commits, and only once if it is repeated. `landing.notifications`
renders the message and tries the channels one after the other (`list_remaining_channels`);
`NoticeSender` sends it.
"""

from datetime import datetime

from dunwell.accounts.merchants.account import Work
from dunwell.contact.notices.occasions.facts import OccasionFacts
from dunwell.contact.notices.occasions.store import NoticeOccasion, save_occasion


async def notify_debtor(
    work: Work, claim_id: int, subject: str, facts: OccasionFacts,
    *, not_before: datetime | None = None,
) -> bool:  # fmt: skip
    """Store the occasion. Return False if the debtor has been notified of it or is being notified.

    `subject` identifies the occasion among those of the same kind, by the id of its cause.
    `not_before` is real time; None for at once.
    """
    occasion = NoticeOccasion(work.merchant_id, claim_id, facts.template, subject)
    return await save_occasion(work.tx, occasion, facts, not_before or work.real_now)
