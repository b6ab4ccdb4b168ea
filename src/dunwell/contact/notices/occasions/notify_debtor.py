"""Has a debtor told of something, exactly once, by a message of its own.

A row is written in the transaction of the use case that it is about: it is told if that commits,
and not again, whoever repeats it. `interfaces.landing.telling` writes the message and takes the
ways there are (`list_ways`), one after the other; `NoticeSender` sends it.
"""

from datetime import datetime

from dunwell.accounts.merchants.account import Work
from dunwell.contact.notices.occasions.facts import OccasionFacts
from dunwell.contact.notices.occasions.store import NoticeOccasion, save_occasion


async def notify_debtor(
    work: Work, claim_id: int, subject: str, facts: OccasionFacts,
    *, not_before: datetime | None = None,
) -> bool:  # fmt: skip
    """subject: which one of these facts' occasions of the claim it is, an id of what it is about.
    not_before: real time; none: at once. False: it was told, or is being told, already."""
    occasion = NoticeOccasion(work.merchant_id, claim_id, facts.template, subject)
    return await save_occasion(work.tx, occasion, facts, not_before or work.real_now)
