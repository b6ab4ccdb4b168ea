"""Data of one reader never appears on the pages of another.

Templates are rendered once and filled in for each reader. The pages of a claim are requested from
an application that has served another debtor of the same merchant, and from one that has not.
"""

import re

from dunwell.interfaces.landing.session.session import Level
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.application import Application
from tests.support.crawling import Seen, crawl, is_page
from tests.support.full_claim import FullClaim, configuration_with_everything
from tests.support.guarded_landing import NUMBER, ON_FILE
from tests.support.landing import Browser, LandingHarness, a_landing

# Different each time the form is shown.
_FORM_ID = re.compile(r'name="form" value="[0-9a-f-]{36}"')
_OTHER = ON_FILE | {
    "items": [
        {"reference": "Stuhl", "type": "PRIMARY", "value": "7331", "dueDate": "2026-01-09"},
        {"reference": "Mahnung", "type": "DUNNING_FEE", "value": "619"},
    ],
    "debtorName": "Wanda", "debtorLastName": "Quint", "email": "wanda@quint.example",
    "mobileNumber": "+436649876543", "customerNumber": "K-9900",
}  # fmt: skip
_OTHERS_OWN = re.compile(r"73[.,]31|79[.,]50|6[.,]19|wanda|quint|Stuhl|\+43|543\b|ZWEI")


async def test_a_page_does_not_depend_on_earlier_requests(
    resources: Resources, clock: MovableClock
) -> None:
    given = {
        "configuration": configuration_with_everything(),
        "debtor": ON_FILE | {"mobileNumber": NUMBER},
    }
    async with (
        a_landing(resources, clock, **given) as warm,
        a_landing(
            resources, clock, key="cold", application=Application(resources), **given
        ) as other_application,
    ):
        [other] = await warm.payments.harness.create("ZWEI-888", **_OTHER)
        own = await _request_address_change(warm, warm.claim_id)
        theirs = await _load_pages(await _request_address_change(warm, other))
        after = await _load_pages(own)
        on_its_own = await _load_pages(_move(own, other_application))

    assert sum(len(_OTHERS_OWN.findall(text)) for text in theirs.values()) > 50
    assert after.keys() == on_its_own.keys()
    assert [path for path, text in after.items() if text != on_its_own[path]] == []
    assert [path for path, text in after.items() if _OTHERS_OWN.search(text)] == []


async def _request_address_change(landing: LandingHarness, claim_id: int) -> Browser:
    """Open the claim with a sent code, and enter a new e-mail address that waits for its code."""
    visitor = await FullClaim(landing, claim_id).enter(Level.CODE, f"192.0.2.{claim_id % 200}")
    await visitor.get("/claim/preferences/email")
    typed = "other@quint.example" if claim_id != landing.claim_id else "own@erben.example"
    page = await visitor.submit("/claim/preferences/email", address=typed)
    assert page.url.path.endswith("/code")
    return visitor


def _move(visitor: Browser, other_application: LandingHarness) -> Browser:
    """Return the same session at the other application."""
    moved = other_application.visitor("192.0.2.250")
    moved.http.cookies = visitor.http.cookies
    return moved


async def _load_pages(visitor: Browser) -> dict[str, str]:
    seen: Seen = await crawl(visitor, ["/claim"], "en")
    pages = {path: answer.text for path, answer in seen.items() if is_page(answer)}
    return {path: _FORM_ID.sub("", text) for path, text in pages.items()}
