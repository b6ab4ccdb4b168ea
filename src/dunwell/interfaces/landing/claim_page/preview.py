"""A preview of the claim's page for the merchant's staff. It opens no session and publishes no
event, and its forms cannot be sent."""

from dataclasses import dataclass

import msgspec
from starlette.responses import Response

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.accounts.merchants.rights import Right
from dunwell.interfaces.landing.claim_page.next_steps import load_forecast
from dunwell.interfaces.landing.claim_page.recent_answers import find_alternative
from dunwell.interfaces.landing.claim_page.views import (
    PreviewedClaimPage,
    PreviewedWithheldPage,
    describe_claim,
    describe_withheld,
)
from dunwell.interfaces.landing.payment.payment_choice import has_method
from dunwell.interfaces.landing.render.pages import VisitorSession
from dunwell.interfaces.landing.session.session import Level
from dunwell.interfaces.landing.session.store import load_previewed_claim
from dunwell.interfaces.landing.web.site import DebtorSite
from dunwell.interfaces.web.requests import PageRequest
from dunwell.interfaces.web.responses import build_page_response
from dunwell.interfaces.web.templates import Page
from dunwell.platform.errors import NotFound

_PREVIEW_SESSION = VisitorSession(
    form_token="", minutes_left=60, ends_soon=False, can_be_extended=False
)
# The Content-Security-Policy of the preview. It forbids all forms and scripts.
_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'none'; "
    "frame-ancestors 'none'; base-uri 'none'"
)


@dataclass(frozen=True, slots=True)
class DebtorViewOfClaim:
    """The page to render. Rendering needs no transaction."""

    merchant: Merchant
    language: str | None
    page: Page


async def prepare_claim_preview(
    site: DebtorSite, work: Work, claim_id: int, *, is_link_only: bool
) -> DebtorViewOfClaim:
    """Prepare the preview at the level of a known fact, or at the level of a link if
    `is_link_only`. Raises NotFound if the claim does not exist."""
    work.require(Right.READ_CLAIMS)
    merchant = work.merchant
    level = Level.LINK if is_link_only else Level.FACT
    opened = await load_previewed_claim(
        work.tx, work.merchant_id, claim_id=claim_id, level=level, now=work.real_now
    )
    if opened is None:
        raise NotFound(f"There is no claim {claim_id}.")
    if opened.facts.withheld:
        withheld = describe_withheld(opened, opened.facts.withheld)
        values = {name: getattr(withheld, name) for name in withheld.__struct_fields__}
        return DebtorViewOfClaim(merchant, opened.facts.language, PreviewedWithheldPage(**values))
    announced = await load_forecast(site.resources, opened, work.now, work.tx)
    can_pay = has_method(site.providers, merchant)
    alternative = await find_alternative(site.resources, opened, work.now, work.tx)
    page = describe_claim(
        opened, work.now, announced, can_pay=can_pay, other_count=0, alternative=alternative
    )
    shown = PreviewedClaimPage(**{name: getattr(page, name) for name in page.__struct_fields__})
    return DebtorViewOfClaim(merchant, opened.facts.language, shown)


def answer_claim_preview(
    site: DebtorSite, request: PageRequest, preview: DebtorViewOfClaim
) -> Response:
    context = msgspec.structs.replace(
        site.build_context(request, preview.merchant, preview.language), session=_PREVIEW_SESSION
    )
    body = site.pages.render(context, preview.page)
    return build_page_response(body, policy=_POLICY)
