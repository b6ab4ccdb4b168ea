"""Tells debtors by e-mail how their requests for a plan or for more time were answered.

Once for each answer, whoever gave it: the merchant, or the bounds by themselves. Who has no address
that takes e-mail finds the answer on the page.
"""

import structlog

from dunwell.claims.store import lock_claim
from dunwell.errors import Unavailable
from dunwell.kit.resources import Resources
from dunwell.landing.arranging.confirmation import tell_answer
from dunwell.landing.arranging.store import load_correspondent
from dunwell.landing.telling.writer import NoticeWriter
from dunwell.merchants.account import Work
from dunwell.merchants.actor import SYSTEM
from dunwell.merchants.store import load_merchant
from dunwell.modalities.store import load_modality
from dunwell.modalities.store_answers import Untold, find_untold, take_untold
from dunwell.notices.notice import Addressee
from dunwell.notices.send_notice import send_notice

ANSWER_SECONDS = 2.0
_SET_SIZE = 100

log = structlog.get_logger(__name__)


async def tell_answers(resources: Resources, writer: NoticeWriter) -> int:
    """Answers looked at; 0 when nothing was left."""
    async with resources.database.connection() as connection:
        found = await find_untold(connection, _SET_SIZE)
    for untold in found:
        try:
            await _tell(resources, writer, untold)
        except Unavailable:
            raise
        except Exception as error:
            # One that cannot be told must not come again and again: the page tells it.
            log.exception("cannot tell", merchant_id=untold.merchant_id, error=type(error).__name__)
            async with resources.database.transaction() as tx:
                await take_untold(tx, untold)
    return len(found)


async def _tell(resources: Resources, writer: NoticeWriter, untold: Untold) -> None:
    merchant_id, claim_id = untold.merchant_id, untold.claim_id
    async with resources.database.transaction() as tx:
        # The claim before everything else.
        claim = await lock_claim(tx, merchant_id, claim_id)
        merchant = await load_merchant(tx, merchant_id)
        if claim is None or merchant is None or not await take_untold(tx, untold):
            return
        modality = await load_modality(tx, merchant_id, claim_id, untold.modality_id)
        debtor = await load_correspondent(tx, merchant_id, claim_id)
        if modality is None or debtor is None or debtor.email is None:
            return
        language = debtor.language or merchant.configuration.language
        told = tell_answer(modality, claim.reference_number)
        addressee = Addressee(claim_id, "EMAIL", debtor.email, language)
        notice = writer.write(merchant, addressee, told)
        work = Work.open(resources, tx, merchant, SYSTEM)
        await send_notice(work, resources.keys, notice)
