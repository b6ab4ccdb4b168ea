"""An address that its channel refuses as unknown is suppressed, whatever the message was."""

from dunwell.contact.sending.channel import Permanent
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.delivery_providers import a_harness_with_a_provider
from tests.support.harness import ScriptedChannel, ScriptedDeliveryProvider
from tests.support.notices import a_notice_harness

_NOBODY = Permanent("550 5.1.1", "ADDRESS")
_SUPPRESSED = "SELECT channel, reason, masked_address FROM suppressions WHERE merchant_id = $1"
_CONTACTS = """
SELECT channel, state FROM communications WHERE merchant_id = $1 ORDER BY claim_id, place
"""


async def test_a_notice_that_is_refused_suppresses_its_address(
    resources: Resources, clock: MovableClock
) -> None:
    notice_harness = await a_notice_harness(resources, clock)
    await notice_harness.request()
    await notice_harness.run(ScriptedChannel([_NOBODY]))
    assert await notice_harness.states() == [("FAILED", "550 5.1.1")]
    rows = [tuple(row) for row in await notice_harness.harness.rows(_SUPPRESSED)]
    assert rows == [("EMAIL", "BOUNCE", "e***@example.org")]


async def test_an_address_that_cannot_be_suppressed_does_not_hold_up_others(
    resources: Resources, clock: MovableClock
) -> None:
    provider = ScriptedDeliveryProvider([_NOBODY, _NOBODY])
    harness = await a_harness_with_a_provider(resources, clock, provider)
    for number, email in (("1", "erika@localhost"), ("2", "erika@example.org")):
        mobile = f"+491511234567{number}"
        await harness.create(f"R-{number}", email=email, mobileNumber=mobile, customerNumber=number)
    await harness.run()
    assert [tuple(row) for row in await harness.rows(_CONTACTS)] == [
        ("EMAIL", "FAILED"), ("SMS", "ACCEPTED"), ("EMAIL", "FAILED"), ("SMS", "ACCEPTED"),
    ]  # fmt: skip
    rows = [tuple(row) for row in await harness.rows(_SUPPRESSED)]
    assert rows == [("EMAIL", "BOUNCE", "e***@example.org")]
