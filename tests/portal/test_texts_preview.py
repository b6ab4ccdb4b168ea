"""The preview of a template, a test message to oneself, and the simulation of a workflow."""

from datetime import timedelta

import pytest

from dunwell.accounts.merchants.rights import Role
from dunwell.accounts.users.user import UserRoles
from dunwell.contact.sending.channel import Accepted, Outcome, Permanent, Temporary
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.application import an_application
from tests.support.harness import Harness, ScriptedDeliveryProvider
from tests.support.portal import Clerk, read_fields, sign_in
from tests.support.texts import a_harness_with_prices, a_texts_harness

_GERMAN = "template=reminder&language=de"
_PNG = b"\x89PNG\r\n"


@pytest.fixture
async def harness(resources: Resources, clock: MovableClock) -> Harness:
    return await a_harness_with_prices(resources, clock)


@pytest.fixture
async def path(harness: Harness) -> str:
    return await a_texts_harness(harness)


def preview(path: str, channel: str, more: str = "") -> str:
    return f"{path}/texts/preview{more and '/' + more}?{_GERMAN}&channel={channel}"


async def test_an_email_is_shown_in_a_sandboxed_frame(clerk: Clerk, path: str) -> None:
    page = await clerk.get(preview(path, "EMAIL"))
    frame = await clerk.get(preview(path, "EMAIL", "mail"))

    assert "; frame-src 'self'" in page.headers["Content-Security-Policy"]
    assert " sandbox title=" in page.text
    policy = frame.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; style-src-elem 'sha256-")
    assert policy.endswith("img-src data:; frame-ancestors 'self'; sandbox")
    assert "104,90\u00a0€" in frame.text
    assert "__masked" not in frame.text
    assert "_chk_code" not in frame.text
    other = await clerk.get(preview(path, "SMS"))
    assert "frame-src" not in other.headers["Content-Security-Policy"]


async def test_a_letter_is_previewed_as_images_and_not_sent(clerk: Clerk, path: str) -> None:
    page = await clerk.get(f"{preview(path, 'LETTER')}&case=MANY_ITEMS")
    first = await clerk.get(f"{preview(path, 'LETTER', 'pages/1')}&case=MANY_ITEMS")

    assert page.text.count("<img src=") == 2
    assert "€1.70" in page.text
    assert (first.headers["Content-Type"], first.content[:6]) == ("image/png", _PNG)
    assert first.headers["Content-Security-Policy"] == "default-src 'none'; sandbox"
    for more in ("pages/3", "pages/0", "pages/x", "pages/1234", "mail"):
        address = f"{preview(path, 'LETTER', more)}&case=MANY_ITEMS"
        assert (await clerk.get(address)).status_code == 404, more


async def test_an_sms_preview_shows_parts_price_and_the_cost_with_real_names(
    clerk: Clerk, harness: Harness, path: str
) -> None:
    await harness.create("A-1", mobileNumber="+4915112345678", debtorLastName="n" * 120)
    await harness.create("A-2", mobileNumber="+436641234567")

    page = await clerk.get(preview(path, "SMS"))

    assert "1 part, " in page.text
    assert "<dd>€0.075</dd>" in page.text
    assert "amounts of the newest 2 claims" in page.text
    assert '<th scope="row">AT</th><td class="number">1</td>' in page.text
    assert "€0.155" in page.text


async def test_sample_cases_and_real_claims_can_be_previewed(
    clerk: Clerk, harness: Harness, path: str
) -> None:
    [claim_id] = await harness.create("RE-77", debtorName="Zoë", debtorLastName="Müller")

    longest = await clerk.get(f"{preview(path, 'EMAIL', 'mail')}&case=LONGEST")
    bare = await clerk.get(f"{preview(path, 'EMAIL', 'mail')}&case=BARE")
    own = await clerk.get(f"{preview(path, 'EMAIL')}&claim=RE-77")
    by_number = await clerk.get(f"{preview(path, 'EMAIL')}&claim={claim_id}")
    unknown = await clerk.get(f"{preview(path, 'EMAIL')}&claim=RE-78")
    letter = await clerk.get(f"{preview(path, 'LETTER')}&claim=RE-77")

    assert "Schwarzenberg-Oberhohenstein" in longest.text
    assert "Guten Tag Ng," in bare.text
    assert "Guten Tag Zoë Müller," in own.text
    assert "Guten Tag Zoë Müller," in by_number.text
    assert "matches no claim or several" in unknown.text
    assert "Erika Mustermann" in unknown.text
    assert "This claim has no address for this channel." in letter.text


async def test_previews_of_a_claim_by_the_merchants_staff_are_recorded(
    resources: Resources, harness: Harness, path: str
) -> None:
    place = UserRoles(memberships={harness.merchant.merchant_id: Role.OPERATOR})
    staff = await sign_in(resources, an_application(resources).app, harness, place)
    await harness.create("RE-77")

    await staff.get(f"{preview(path, 'EMAIL')}&claim=RE-77")
    await staff.get(f"{path}/simulate?claim=RE-77")
    await staff.get(preview(path, "EMAIL"))

    rows = await harness.rows(
        "SELECT subject FROM audit_log WHERE merchant_id = $1 AND action = 'claim.look'"
    )
    assert len(rows) == 2


@pytest.fixture
def provider(resources: Resources, harness: Harness) -> ScriptedDeliveryProvider:
    """The application's e-mail provider during the test."""
    provider = harness.delivery_providers["post"]
    an_application(resources).delivery_providers["post"] = provider
    return provider


async def send(clerk: Clerk, path: str, channel: str = "EMAIL") -> str:
    page = await clerk.get(preview(path, "EMAIL"))
    token = read_fields(page.text)["token"]
    answer = await clerk.post(preview(path, channel), {"token": token})
    return (await clerk.follow(answer)).text


async def test_a_test_message_goes_to_the_user_and_is_not_counted_as_a_contact(
    clerk: Clerk, harness: Harness, path: str, provider: ScriptedDeliveryProvider
) -> None:
    text = await send(clerk, path)

    [message] = provider.sent
    assert message.recipient.startswith("clerk-")
    assert f"The test message was sent to {message.recipient}." in text
    assert message.subject == "[Test] Erinnerung INV-2026-0815"
    assert await harness.rows("SELECT FROM communications WHERE merchant_id = $1") == []
    assert await harness.rows("SELECT FROM contact_ledger WHERE merchant_id = $1") == []


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        (Accepted(), "The test message was sent to"),
        (Temporary(60), "did not accept the test message"),
        (Permanent("no"), "rejected the test permanently"),
        (OSError("lost"), "It is unknown whether the test message was sent"),
    ],
)
async def test_the_outcome_of_a_test_message_is_shown(
    clerk: Clerk,
    path: str,
    provider: ScriptedDeliveryProvider,
    outcome: Outcome | Exception,
    words: str,
) -> None:
    provider.answers.append(outcome)

    assert words in await send(clerk, path)


async def test_tests_above_the_rate_limit_or_on_other_channels_are_not_sent(
    clerk: Clerk, path: str, provider: ScriptedDeliveryProvider
) -> None:
    assert "No test message was sent" in await send(clerk, path, "SMS")
    assert provider.sent == []
    for _ in range(20):
        await send(clerk, path)

    assert "limit of 20 test messages per hour" in await send(clerk, path)
    assert len(provider.sent) == 20


async def test_a_simulation_shows_dates_texts_reasons_and_costs(
    resources: Resources, clock: MovableClock, harness: Harness, path: str
) -> None:
    clock.advance(timedelta(hours=9))
    clerk = await sign_in(resources, an_application(resources).app, harness)

    page = await clerk.get(f"{path}/simulate?start=2026-12-23")

    assert "after 27 days" in page.text
    assert "the contact hours had ended on Wed 23\u00a0Dec\u00a02026" in page.text
    assert "Fri 25\u00a0Dec\u00a02026 is a holiday (Christmas Day)" in page.text
    # The last wait starts two postal days after the letter.
    assert "postal delivery of the letter" in page.text
    assert "€0.8505" in page.text
    assert "outstanding after this: <bdi" in page.text
    preview_of = (
        f"{clerk.at(path)}/texts/preview?template=reminder&amp;channel=LETTER&amp;language=de"
    )
    assert preview_of in page.text


async def test_an_invalid_date_and_an_unknown_claim_are_reported(clerk: Clerk, path: str) -> None:
    page = await clerk.get(f"{path}/simulate?start=then&claim=nobody")

    assert page.status_code == 200
    assert "Enter a valid date (2026-03-31). The simulation starts today instead." in page.text
    assert "matches no claim or several" in page.text
