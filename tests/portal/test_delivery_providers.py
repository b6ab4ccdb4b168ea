"""The page of delivery providers, which only operators of all merchants may open."""

from datetime import timedelta
from typing import Any

import pytest

from dunwell.accounts.installation.apply_installation import apply_installation
from dunwell.accounts.installation.installation_file import check_installation
from dunwell.accounts.merchants.rights import Role
from dunwell.accounts.users.user import UserRoles
from dunwell.contact.escalation.reports.delivery_reports import process_reports
from dunwell.interfaces.portal.render.addresses import build_address
from dunwell.operations.alerts.alert_emails import ALERT_PAGES
from dunwell.operations.alerts.check_alerts import check_for_alerts
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.application import an_application
from tests.support.delivery_providers import a_harness_with_a_provider, report
from tests.support.harness import Harness, ScriptedDeliveryProvider
from tests.support.portal import sign_in

_PROVIDER_SETTINGS: dict[str, Any] = {
    "channel": "EMAIL", "adapter": "smtp", "server": "mail.example.com:587",
    "pace": {"perSecond": 20},
}  # fmt: skip


async def a_harness_with_messages(
    resources: Resources, clock: MovableClock
) -> tuple[Harness, ScriptedDeliveryProvider]:
    """Twelve messages that were sent through the delivery provider."""
    await apply_installation(
        resources, check_installation({"deliveryProviders": {"post": _PROVIDER_SETTINGS}})
    )
    provider = ScriptedDeliveryProvider()
    harness = await a_harness_with_a_provider(resources, clock, provider)
    await harness.create(*(f"INV-{number}" for number in range(12)))
    await harness.run()
    return harness, provider


@pytest.mark.parametrize("language", ["en", "de"])
async def test_sent_messages_and_delivery_reports_are_shown(
    resources: Resources, clock: MovableClock, language: str
) -> None:
    harness, provider = await a_harness_with_messages(resources, clock)
    clerk = await sign_in(resources, an_application(resources).app, harness)
    await clerk.get(f"?lang={language}")
    quiet = await clerk.get("/portal/delivery-providers")
    assert quiet.status_code == 200
    assert "too many" not in quiet.text
    for number in range(11):
        provider.sent.insert(0, provider.sent.pop())
        await report(
            harness, provider, provider_message_id=str(number), reason="<b>5.7.1</b>",
            cause="ABOUT_US",
            destination="mail.example",
        )  # fmt: skip
    await report(harness, provider, provider_message_id="x<i>", reference=None)
    await process_reports(resources)
    shown = (await clerk.get("/portal/delivery-providers")).text
    assert {"en": "too many failures", "de": "zu viele Fehler"}[language] in shown
    # Of twelve messages to one domain, eleven failed and one has no report.
    row = shown[shown.index("<bdi>example.org<") :]
    share = {"en": "91.7", "de": "91,7"}[language]
    figures = [
        ">12</td>",
        ">0</td>",
        ">11</td>",
        f">{share} %",
        ">1</td>",
        "<bdi>&lt;b&gt;5.7.1",
    ]
    places = [row.index(each) for each in figures]
    assert places == sorted(places)
    assert "x&lt;i&gt;" in shown
    words = {"en": "rejected by the recipient", "de": "vom Server des Empfängers abgelehnt"}
    assert words[language] in shown
    for later, is_shown in ((timedelta(days=7), True), (timedelta(seconds=1), False)):
        clock.advance(later)
        clerk = await sign_in(resources, an_application(resources).app, harness)
        shown = (await clerk.get("/portal/delivery-providers")).text
        assert ("<bdi>example.org<" in shown) is is_shown


async def test_queued_messages_are_counted(resources: Resources, clock: MovableClock) -> None:
    harness, _ = await a_harness_with_messages(resources, clock)
    harness.delivery_providers.clear()
    await harness.create(*(f"INV-9{number}" for number in range(3)))
    await harness.run()
    clock.advance(timedelta(minutes=10))
    clerk = await sign_in(resources, an_application(resources).app, harness)
    shown = (await clerk.get("/portal/delivery-providers")).text
    assert '<td class="sum">3<span class="under">' in shown


@pytest.mark.parametrize("language", ["en", "de"])
async def test_alerts_are_listed_with_links_to_the_pages_that_resolve_them(
    resources: Resources, clock: MovableClock, language: str
) -> None:
    harness, provider = await a_harness_with_messages(resources, clock)
    provider.answers = [ConnectionError()]
    await harness.create("INV-99")
    await harness.run()
    clerk = await sign_in(resources, an_application(resources).app, harness)
    await clerk.get(f"?lang={language}")
    start, worker_hint = (
        (await clerk.get("")).text,
        {"en": "Check that a worker is running.", "de": "Prüfen Sie, ob ein Worker läuft."},
    )
    assert worker_hint[language] in start
    clock.advance(timedelta(days=1))
    await check_for_alerts(resources, harness.delivery_providers.get, "")
    clerk = await sign_in(resources, an_application(resources).app, harness)
    await clerk.get(f"?lang={language}")
    start = (await clerk.get("")).text
    assert worker_hint[language] not in start
    one = {"en": "1 active alert of the installation", "de": "1 aktiver Alarm der Installation"}
    assert one[language] in start
    shown = (await clerk.get("/portal/delivery-providers")).text
    path = f"/portal/m/{harness.merchant.merchant_id}/messages?state=UNKNOWN"
    assert f'<a href="{path}">{harness.merchant.key}: ' in shown
    assert (await clerk.get(path)).status_code == 200


def test_each_kind_of_alert_links_to_a_page_of_the_portal() -> None:
    pages = {build_address(page, merchant_id=7) for page in ("endpoints", "disputes", "replies")}
    pages |= {
        build_address("delivery_providers"), build_address("people_audit"),
        build_address("unmatched_messages"),
        build_address("unmatched_messages", of="reports"),
        build_address("messages", merchant_id=7, state="UNKNOWN"),
    }  # fmt: skip
    found = {path.format(subject=7) for path in ALERT_PAGES.values()} | {
        "/portal/delivery-providers"
    }
    assert found == pages


@pytest.mark.parametrize("role", [Role.OPERATOR, Role.AUDITOR, Role.MERCHANT_USER])
async def test_the_page_is_only_for_operators_of_all_merchants(
    resources: Resources, clock: MovableClock, role: Role
) -> None:
    harness, _ = await a_harness_with_messages(resources, clock)
    roles = UserRoles(memberships={harness.merchant.merchant_id: role})
    clerk = await sign_in(resources, an_application(resources).app, harness, roles)
    refused = await clerk.get("/portal/delivery-providers")
    assert refused.status_code in (403, 404)
    assert "mail.example.com" not in refused.text
    assert "/portal/delivery-providers" not in (await clerk.get("")).text
