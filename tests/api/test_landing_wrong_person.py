"""A claim that has reached the wrong person or whose debtor has died: its page, its event, and the
suppressed addresses."""

from typing import Any

import httpx
import pytest

from dunwell.cases.disputes.answer_dispute import confirm_right_person
from dunwell.cases.disputes.dispute import DisputeState
from dunwell.contact.messages.claim_links import activate_claim_token
from dunwell.contact.messages.suppression import list_all_suppressions
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.debtor_disputes import disputes, files, list_event_reasons, open_dispute_form
from tests.support.disputes import ACCEPTED, REJECTED, read_disputes, resolve
from tests.support.files import an_image
from tests.support.guarded_landing import ON_FILE, list_notices, read_sent_code
from tests.support.harness import ERP
from tests.support.landing import LandingHarness, a_landing
from tests.support.notice_sending import send_due_notices

_DEBTOR = {**ON_FILE, "email": "erika@example.org"}
# What the wrong person must not see: amount, initials, name, reference, and any way to pay.
_OF_THE_CLAIM = ("102", "E.\N{NO-BREAK SPACE}M.", "Mustermann", "INV-1001", "/claim/pay")
# Pages of the claim that redirect to the withheld page.
_PAGES = (
    "pay", "pay/method?cents=10240", "pay/transfer?cents=10240", "options", "plan", "later", "help",
    "dispute", "dispute/OTHER", "documents", "others", "verify/claim", "preferences",
)  # fmt: skip


@pytest.fixture
async def landing(resources: Resources, clock: MovableClock) -> Any:
    async with a_landing(resources, clock, debtor=_DEBTOR) as opened:
        yield opened


async def report(
    landing: LandingHarness, reason: str = "WRONG_PERSON", **fields: str
) -> httpx.Response:
    """Open the claim with a link, and send this reason."""
    await landing.open()
    return await landing.browser.send(await open_dispute_form(landing, reason), do="send", **fields)


async def list_suppressions(landing: LandingHarness) -> list[tuple[str, str, str]]:
    async with landing.payments.harness.work() as work:
        found = await list_all_suppressions(work.tx, work.merchant_id)
    return [(each.channel, each.masked_address, each.reason) for each in found]


async def confirm(landing: LandingHarness) -> None:
    """A clerk confirms that the claim reached the right, living person."""
    [dispute] = await read_disputes(landing.payments.harness, landing.claim_id)
    async with landing.payments.harness.work(ERP) as work:
        await confirm_right_person(work, landing.claim_id, dispute.dispute_id)


def shows_claim(page: httpx.Response) -> bool:
    return all(text in page.text for text in ("102", "INV-1001", "/claim/pay"))


@pytest.mark.parametrize(("language", "words"), [("en", "This is not me"), ("de", "nicht gemeint")])
async def test_a_claim_opened_by_a_link_has_a_button_for_the_wrong_person(
    landing: LandingHarness, language: str, words: str
) -> None:
    await landing.open()
    page = await landing.browser.get(f"/claim?lang={language}")
    assert f'class="secondary" href="/claim/dispute/WRONG_PERSON?lang={language}"' in page.text
    assert words in page.text


async def test_a_link_that_was_not_opened_has_one_button(landing: LandingHarness) -> None:
    page = await landing.browser.get(await landing.give_link())
    assert page.text.count("<button") == 1


async def test_after_the_report_the_page_withholds_the_claim(
    landing: LandingHarness,
) -> None:
    page = await report(landing)

    assert "You do not have to pay" in page.text
    assert [text for text in _OF_THE_CLAIM if text in page.text] == []
    for path in _PAGES:
        answer = await landing.browser.get(f"/claim/{path}")
        assert (answer.status_code, answer.headers["Location"]) == (303, "/claim"), path
    posted = await landing.browser.post("/claim/pay", cents="10240", provider="sandbox")
    assert posted.status_code in (303, 403, 405)
    assert await landing.payments.count("payment_requests") == 0


async def test_the_report_is_published_as_not_my_debt_and_puts_the_claim_on_hold(
    landing: LandingHarness,
) -> None:
    await report(landing, person="My neighbour")

    [dispute] = await disputes(landing)
    assert (dispute["type"], dispute["reason"]) == ("NOT_MY_DEBT", "WRONG_PERSON")
    assert dispute["answers"] == {"person": "My neighbour"}
    [event] = await list_event_reasons(landing)
    assert (event["type"], event.get("message")) == ("NOT_MY_DEBT", None)
    claim = await landing.payments.harness.read(landing.claim_id)
    assert [hold.kind for hold in claim.holds] == ["DISPUTE"]


async def test_the_address_is_suppressed_and_gets_no_messages(landing: LandingHarness) -> None:
    await report(landing)
    await send_due_notices(landing.payments.harness)

    assert await list_suppressions(landing) == [("EMAIL", "e***@example.org", "WRONG_PERSON")]
    assert await landing.payments.count("debtor_notices") == 0


@pytest.mark.parametrize(
    ("debtor", "channel", "masked"),
    [
        ({"mobileNumber": "+4915112345678"}, "SMS", "+49***678"),
        (
            {"address": {"street": "Heidestraße 17", "postalCode": "51147", "city": "Köln"}},
            "LETTER", "H***, 51147 Köln",
        ),
    ],
)  # fmt: skip
async def test_a_number_and_a_postal_address_are_suppressed_too(
    resources: Resources, clock: MovableClock, debtor: dict[str, Any], channel: Any, masked: str
) -> None:
    async with a_landing(resources, clock, debtor={**ON_FILE, **debtor}) as landing:
        if channel == "LETTER":
            await landing.browser.type_code(await landing.give_code())
        else:
            await landing.open(channel)
        page = await landing.browser.get("/claim?lang=en")
        await landing.browser.send(await open_dispute_form(landing, "WRONG_PERSON"), do="send")

        assert "This is not me" in page.text
        assert await list_suppressions(landing) == [(channel, masked, "WRONG_PERSON")]


async def test_a_report_from_the_claims_own_link_suppresses_no_address(
    resources: Resources, clock: MovableClock
) -> None:
    """The merchant may have sent this link to any address."""
    address = {"street": "Heidestraße 17", "postalCode": "51147", "city": "Köln"}
    async with a_landing(resources, clock, debtor={**_DEBTOR, "address": address}) as landing:
        payments = landing.payments
        async with payments.harness.work() as work:
            token = await activate_claim_token(
                work.tx, resources.keys, payments.merchant_id, landing.claim_id, payments.now
            )
        await landing.browser.open(f"/q/{token}")
        page = await landing.browser.send(
            await open_dispute_form(landing, "WRONG_PERSON"), do="send"
        )

        assert not shows_claim(page)
        assert await list_suppressions(landing) == []


async def test_forms_that_were_open_before_the_report_change_nothing(
    landing: LandingHarness,
) -> None:
    """Another person at the same address reports it, while the debtor's page is open."""
    await landing.browser.type_code(await landing.give_code())
    await landing.browser.get("/claim/verify/preferences")
    await landing.browser.submit("/claim/verify/preferences/send")
    await landing.browser.submit(
        "/claim/verify/preferences/code", code=await read_sent_code(landing)
    )
    form = await open_dispute_form(landing, "OTHER")
    await landing.browser.send(form, do="send", message="Please check this")
    [other] = await disputes(landing)
    evidence = await landing.browser.get(f"/claim/disputes/{other['dispute_id']}")
    address = await landing.copy_browser().get("/claim/preferences/email")
    stranger = landing.visitor()
    await stranger.open(await landing.give_link())
    await stranger.get("/claim/dispute/WRONG_PERSON?lang=en")
    await stranger.send("/claim/dispute/WRONG_PERSON?lang=en", do="send")
    sent = len(await list_notices(landing))

    landing.browser.page = evidence
    files_path = f"/claim/disputes/{other['dispute_id']}/files"
    after_files = await landing.browser.send(files_path, [("a.png", an_image("PNG"))])
    landing.browser.page = address
    after_address = await landing.browser.submit(
        "/claim/preferences/email", address="new@example.org"
    )

    for answer in (after_files, after_address):
        assert answer.url.path == "/claim"
        assert not shows_claim(answer)
    assert await files(landing) == []
    assert len(await list_notices(landing)) == sent


async def test_other_links_and_browsers_withhold_the_claim_too(landing: LandingHarness) -> None:
    await report(landing)
    stranger = landing.visitor()
    page = await stranger.open(await landing.give_link("SMS"))
    assert [text for text in _OF_THE_CLAIM if text in page.text] == []
    assert "withdraw" not in page.text


async def test_a_later_message_to_another_address_shows_the_claim(landing: LandingHarness) -> None:
    await report(landing)
    [dispute] = await read_disputes(landing.payments.harness, landing.claim_id)
    await resolve(landing.payments.harness, dispute, ACCEPTED, end_claim=False)
    old = await landing.give_link()
    later = await landing.give_link()
    await landing.payments.harness.rows(
        "UPDATE communications SET handed_over_at = $2 WHERE merchant_id = $1 AND communication_id"
        " = (SELECT communication_id FROM debtor_links WHERE merchant_id = $1"
        " ORDER BY communication_id DESC LIMIT 1)",
        landing.payments.now.replace(year=2027),
    )

    assert shows_claim(await landing.visitor("192.0.2.7").open(later))
    assert not shows_claim(await landing.visitor("192.0.2.8").open(old))


async def test_a_clerk_can_end_the_hold_and_the_suppression(landing: LandingHarness) -> None:
    await report(landing)
    await confirm(landing)
    await confirm(landing)

    assert shows_claim(await landing.browser.get("/claim?lang=en"))
    assert await list_suppressions(landing) == []
    [dispute] = await read_disputes(landing.payments.harness, landing.claim_id)
    assert dispute.state is DisputeState.REJECTED
    assert await landing.payments.audited("dispute.release") == 1


async def test_an_accepted_report_stays_withheld_until_a_clerk_releases_it(
    landing: LandingHarness,
) -> None:
    await report(landing)
    [dispute] = await read_disputes(landing.payments.harness, landing.claim_id)
    await resolve(landing.payments.harness, dispute, ACCEPTED, end_claim=False)
    await send_due_notices(landing.payments.harness)

    assert not shows_claim(await landing.browser.get("/claim?lang=en"))
    assert (await landing.payments.harness.read(landing.claim_id)).holds == []
    assert await landing.payments.count("debtor_notices") == 0
    await confirm(landing)
    assert shows_claim(await landing.browser.get("/claim?lang=en"))
    assert await list_suppressions(landing) == []


async def test_a_rejection_ends_the_hold_and_the_suppression_too(landing: LandingHarness) -> None:
    await report(landing)
    [dispute] = await read_disputes(landing.payments.harness, landing.claim_id)
    await resolve(landing.payments.harness, dispute, REJECTED)
    assert shows_claim(await landing.browser.get("/claim?lang=en"))
    assert await list_suppressions(landing) == []


async def test_an_address_suppressed_for_another_reason_stays_suppressed(
    landing: LandingHarness,
) -> None:
    await report(landing)
    await landing.payments.harness.rows(
        "UPDATE suppressions SET reason = 'BOUNCE' WHERE merchant_id = $1"
    )
    await confirm(landing)
    assert [reason for _, _, reason in await list_suppressions(landing)] == ["BOUNCE"]


async def test_an_address_stays_suppressed_while_another_claim_reports_it(
    landing: LandingHarness,
) -> None:
    [other] = await landing.payments.harness.create("INV-2", **_DEBTOR)
    await report(landing)
    second = landing.visitor("192.0.2.9")
    await second.open(await landing.give_link("EMAIL", other))
    await second.get("/claim/dispute/WRONG_PERSON?lang=en")
    await second.send("/claim/dispute/WRONG_PERSON?lang=en", do="send")

    await confirm(landing)

    assert [reason for _, _, reason in await list_suppressions(landing)] == ["WRONG_PERSON"]
    [dispute] = await read_disputes(landing.payments.harness, other)
    async with landing.payments.harness.work(ERP) as work:
        await confirm_right_person(work, other, dispute.dispute_id)
    assert await list_suppressions(landing) == []


async def test_the_same_browser_can_withdraw_a_mistaken_report(
    landing: LandingHarness,
) -> None:
    page = await report(landing)
    [dispute] = await disputes(landing)
    path = f"/claim/disputes/{dispute['dispute_id']}/withdraw?lang=en"
    assert path in page.text
    asked = await landing.browser.get(path)
    assert [text for text in _OF_THE_CLAIM if text in asked.text] == []
    await landing.browser.submit(path)
    assert shows_claim(await landing.browser.get("/claim?lang=en"))
    assert await list_suppressions(landing) == []


async def test_a_debtor_who_owes_nothing_sends_an_ordinary_dispute(landing: LandingHarness) -> None:
    page = await report(landing, "NOT_MY_DEBT", message="I never ordered there")

    assert "We have received your dispute" in page.text
    assert shows_claim(await landing.browser.get("/claim?lang=en"))
    assert await list_suppressions(landing) == []
    [event] = await list_event_reasons(landing)
    assert (event["type"], event.get("message")) == ("NOT_MY_DEBT", None)


async def test_a_reported_death_is_published_as_other_with_its_label(
    landing: LandingHarness,
) -> None:
    page = await report(landing, "PERSON_DIED")

    assert "We are sorry for your loss" in page.text
    assert [text for text in _OF_THE_CLAIM if text in page.text] == []
    [event] = await list_event_reasons(landing)
    assert (event["type"], event["message"]) == ("OTHER", "Die Person ist verstorben")
    german = await landing.browser.get("/claim?lang=de")
    assert "Unser herzliches Beileid" in german.text
    assert await list_suppressions(landing) == []


async def test_the_withheld_page_has_only_the_forms_of_the_session(landing: LandingHarness) -> None:
    for reason in ("WRONG_PERSON", "PERSON_DIED"):
        page = await report(landing, reason)
        main = page.text.split("<main")[1].split("</main>")[0]
        assert "<form" not in main
        assert "<button" not in main
        await confirm(landing) if reason == "WRONG_PERSON" else None
