"""Sending a code and entering it, shared by the pages of a link and those of a session."""

from dataclasses import dataclass
from math import ceil

from starlette.responses import Response

from dunwell.accounts.merchants.merchant import Merchant
from dunwell.contact.notices.notice import Addressee, NoticeChannel, NoticeLimitReached
from dunwell.contact.notices.occasions.facts import CodeFacts
from dunwell.interfaces.landing.render.pages import DebtorPageContext
from dunwell.interfaces.landing.sign_in.attempt_limits import Delayed, Locked, compute_wait_seconds
from dunwell.interfaces.landing.sign_in.entered_codes import TypedCode, send_code
from dunwell.interfaces.landing.sign_in.views import CodeField, SentCodePage
from dunwell.interfaces.landing.sign_in.visitor_limits import digest_visitor
from dunwell.interfaces.landing.web.problems import build_too_many_problem
from dunwell.interfaces.landing.web.site import DebtorRequest, DebtorSite
from dunwell.interfaces.web.forms import FormFields
from dunwell.interfaces.web.problems import Problem


@dataclass(frozen=True, slots=True)
class CodeRecipient:
    """The claim and the address to send a code to. `requested_by` is the session id, or "link"
    before a session is open."""

    merchant: Merchant
    claim_id: int
    channel: NoticeChannel
    address: str
    requested_by: str


async def send_code_and_redirect(
    site: DebtorSite, context: DebtorPageContext, recipient: CodeRecipient, field: CodeField
) -> Response:
    """Send a code and redirect to the field for it."""
    resources = site.resources
    addressee = Addressee(
        recipient.claim_id, recipient.channel, recipient.address, context.language
    )
    notice = site.notices.write(recipient.merchant, addressee, CodeFacts())
    async with resources.database.transaction() as tx:
        work = site.build_work(tx, recipient.merchant, recipient.requested_by)
        sent = await send_code(work, resources.keys, notice)
    if isinstance(sent, NoticeLimitReached):
        return answer_too_many_codes(site, context, field, sent)
    # No code is sent to an address at which another person was reached. The page does not say so,
    # because that may have been reported for another claim.
    return site.redirect(context, f"{field.page}_code", **field.values)


def answer_too_many_codes(
    site: DebtorSite, context: DebtorPageContext, field: CodeField, refusal: NoticeLimitReached
) -> Response:
    """Answer that no more codes can be sent for now. The newest code can still be entered."""
    seconds = compute_wait_seconds(refusal.again_at - site.now())
    page = SentCodePage(field, wait_minutes=ceil(seconds / 60))
    return site.render_page(context, page, 429, more={"Retry-After": str(seconds)})


def describe_lock(result: Locked | Delayed) -> Problem:
    """Describe why an attempt was not checked."""
    if isinstance(result, Delayed):
        return build_too_many_problem(result.retry_after_seconds, "SLOWED")
    return build_too_many_problem(
        result.retry_after_seconds, "LOCKED" if result.retry_after_seconds else "LOCKED_FOR_LINK"
    )


def answer_code_field(
    site: DebtorSite, context: DebtorPageContext, field: CodeField, *, is_wrong: bool
) -> Response:
    page = SentCodePage(field, is_wrong=is_wrong)
    return site.render_page(context, page, 422 if is_wrong else 200)


def build_typed_code(
    site: DebtorSite, request: DebtorRequest, form: FormFields, merchant_id: int, claim_id: int
) -> TypedCode:
    visitor = digest_visitor(site.resources.keys, request.client_host)
    return TypedCode(merchant_id, claim_id, form.get("code", ""), visitor)
