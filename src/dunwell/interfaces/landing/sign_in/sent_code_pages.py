"""What the pages of a link and of a session share where a code is sent and typed in."""

from dataclasses import dataclass
from math import ceil
from uuid import UUID

from starlette.responses import Response

from dunwell.accounts.merchants.merchant import Merchant
from dunwell.contact.notices.notice import Addressee, NoticeChannel, NoticeLimitReached
from dunwell.contact.notices.occasions.facts import CodeFacts
from dunwell.interfaces.landing.render.pages import DebtorPageContext
from dunwell.interfaces.landing.sign_in.attempt_limits import Locked, Slowed, lock_for
from dunwell.interfaces.landing.sign_in.entered_codes import TypedFact, send_code
from dunwell.interfaces.landing.sign_in.views import CodeField, SentCodePage
from dunwell.interfaces.landing.sign_in.visitor_limits import digest_visitor
from dunwell.interfaces.landing.web.debtor_request import DebtorRequest
from dunwell.interfaces.landing.web.problems import too_many
from dunwell.interfaces.landing.web.site import DebtorSite
from dunwell.interfaces.web.form_fields import FormFields
from dunwell.interfaces.web.problems import Problem


@dataclass(frozen=True, slots=True)
class Recipient:
    """Whose code goes where; `asked_by`: the session, or the way that leads to one."""

    merchant: Merchant
    claim_id: int
    channel: NoticeChannel
    address: str
    asked_by: str


async def answer_sent(
    site: DebtorSite, frame: DebtorPageContext, recipient: Recipient, field: CodeField
) -> Response:
    """Sends a code, then on to the field for it."""
    resources = site.resources
    addressee = Addressee(recipient.claim_id, recipient.channel, recipient.address, frame.language)
    notice = site.notices.write(recipient.merchant, addressee, CodeFacts())
    async with resources.database.transaction() as tx:
        work = site.work(tx, recipient.merchant, recipient.asked_by)
        sent = await send_code(work, resources.keys, notice)
    if isinstance(sent, NoticeLimitReached):
        return answer_sent_often(site, frame, field, sent)
    assert isinstance(sent, UUID), "a channel the merchant has"
    return site.redirect(frame, f"{field.page}_code", **field.values)


def answer_sent_often(
    site: DebtorSite, frame: DebtorPageContext, field: CodeField, refusal: NoticeLimitReached
) -> Response:
    """The newest code still works there."""
    seconds = lock_for(refusal.again_at - site.now())
    page = SentCodePage(field, wait_minutes=ceil(seconds / 60))
    return site.answer(frame, page, 429, more={"Retry-After": str(seconds)})


def describe_lock(tried: Locked | Slowed) -> Problem:
    """Of what was not looked at."""
    if isinstance(tried, Slowed):
        return too_many(tried.retry_after_seconds, "SLOWED")
    return too_many(
        tried.retry_after_seconds, "LOCKED" if tried.retry_after_seconds else "LOCKED_FOR_LINK"
    )


def answer_code_field(
    site: DebtorSite, frame: DebtorPageContext, field: CodeField, *, is_wrong: bool
) -> Response:
    page = SentCodePage(field, is_wrong=is_wrong)
    return site.answer(frame, page, 422 if is_wrong else 200)


def read_typed_code(
    site: DebtorSite, visit: DebtorRequest, form: FormFields, merchant_id: int, claim_id: int
) -> TypedFact:
    visitor = digest_visitor(site.resources.keys, visit.client_host)
    return TypedFact(merchant_id, claim_id, form.get("code", ""), visitor)
