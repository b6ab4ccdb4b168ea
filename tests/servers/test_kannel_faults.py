"""Messages when the connection behind a real Kannel breaks or Kannel dies: Dunwell hands each over
once, nothing that the provider acknowledged is repeated, and nothing is lost.

SMPP has no message id chosen by the sender. Kannel submits again what the provider accepted without
acknowledging it before its connection broke; `max-pending-submits` limits how many messages that
can be.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from datetime import timedelta

import pytest

from dunwell.adapters.channels import gateway
from tests.servers.smpp_simulator import OK, Answer, Drop, SmsCentre, Stall
from tests.servers.sms_world import NAME, SmsHarness, wait_until
from tests.support.application import an_application
from tests.support.portal import sign_in

SENT = ("SMS", "ACCEPTED", None, False)
_PENDING = 3
ARRIVED = ("SMS", "ACCEPTED", None, True)
_LEDGER = "SELECT channel, outcome, attempts FROM contact_ledger WHERE merchant_id = $1"
_STATES = """
SELECT d.mobile_number, c.state
FROM communications c JOIN debtors d USING (merchant_id, claim_id)
WHERE c.merchant_id = $1 AND c.channel = 'SMS'
"""


async def wait_for(holds: Callable[[], bool]) -> None:
    async def so_it_is() -> bool:
        return holds()

    await wait_until(so_it_is, 30)


async def wait_for_taken(centre: SmsCentre, count: int) -> None:
    await wait_for(lambda: len(centre.accepted) >= count)


async def has_arrived(sms: SmsHarness) -> None:
    """Wait until the message's receipt has been recorded once."""
    before = len(await sms.reports())
    await sms.kannel.centre.send_receipt(sms.kannel.centre.accepted[-1])
    await sms.wait_for_reports(before + 1)
    await sms.join()
    assert await sms.contacts() == [ARRIVED]
    assert [tuple(row) for row in await sms.harness.rows(_LEDGER)] == [("SMS", "ACCEPTED", 1)]


def answers(*given: Answer) -> Callable[[object], Answer]:
    """Give these answers in order, then OK."""
    left = list(given)
    return lambda _submitted: left.pop(0) if left else OK


async def test_an_sms_survives_a_connection_lost_before_the_response(
    sms_harness: SmsHarness,
) -> None:
    sms = sms_harness
    centre = sms.kannel.centre
    centre.answer = answers(Drop())
    await sms.send()
    await wait_for_taken(centre, 1)
    assert await sms.contacts() == [SENT]
    # Accepted once, without a response the first time. SMPP cannot avoid this repetition.
    assert [each.number for each in centre.submitted] == [1, 2]
    await has_arrived(sms)
    assert len(centre.accepted) == 1


async def test_the_number_of_possibly_repeated_sms_is_limited(sms_harness: SmsHarness) -> None:
    sms = sms_harness
    await sms.kannel.restart(max_pending_submits="2")
    centre = sms.kannel.centre
    centre.answer = lambda _submitted: Stall()
    numbers = [f"+49151000000{number:02d}" for number in range(6)]
    for number in numbers:
        await sms.harness.create(f"R-{number}", mobileNumber=number, email=f"a{number}@b.example")
    await sms.harness.run()
    await wait_for(lambda: len(centre.submitted) == 2)
    centre.answer = answers()
    await centre.drop_links()
    await wait_for_taken(centre, 6)
    await sms.kannel.wait_until_empty()
    taken = Counter(f"+{each.destination}" for each in centre.accepted)
    assert taken == dict.fromkeys(numbers, 1)
    assert len(centre.submitted) == 6 + 2


async def test_an_unanswered_sms_is_not_submitted_again_on_the_same_connection(
    sms_harness: SmsHarness,
) -> None:
    """A message without a response is not repeated while the connection is open."""
    sms = sms_harness
    centre = sms.kannel.centre
    centre.answer = answers(Stall())
    await sms.send()
    await wait_for(lambda: len(centre.submitted) == 1)
    asked = centre.links
    await wait_for(lambda: centre.links >= asked + 3)
    assert len(centre.submitted) == 1
    assert await sms.contacts() == [SENT]


async def test_a_silent_connection_is_reopened(sms_harness: SmsHarness) -> None:
    sms = sms_harness
    centre = sms.kannel.centre
    centre.answers_links = False
    opened = centre.binds
    await wait_for(lambda: centre.binds > opened)
    centre.answers_links = True
    await sms.send()
    await wait_for_taken(centre, 1)
    await has_arrived(sms)
    assert len(centre.submitted) == 1


async def test_an_sms_sent_while_the_provider_is_down_arrives_later(
    sms_harness: SmsHarness,
) -> None:
    sms = sms_harness
    centre = sms.kannel.centre
    centre.accepts_clients = False
    opened = centre.binds
    await centre.unbind()
    await wait_for(lambda: centre.binds > opened)
    await sms.send()
    assert await sms.contacts() == [SENT]
    assert centre.submitted == []
    centre.accepts_clients = True
    await wait_for_taken(centre, 1)
    await has_arrived(sms)
    assert len(centre.submitted) == 1


@pytest.mark.parametrize("was_answered", [True, False])
async def test_a_restarted_gateway_delivers_the_sms_that_it_accepted(
    sms_harness: SmsHarness, *, was_answered: bool
) -> None:
    """After its restart it also knows which message a report belongs to."""
    sms = sms_harness
    kannel, centre = sms.kannel, sms.kannel.centre
    centre.answer = answers() if was_answered else answers(Stall())
    await sms.send()
    await wait_for(lambda: len(centre.submitted) == 1)
    if was_answered:
        await kannel.wait_until_empty()
    await kannel.stop()
    await kannel.start()
    await wait_for_taken(centre, 1)
    await kannel.wait_until_empty()
    assert len(centre.submitted) == (1 if was_answered else 2)
    await has_arrived(sms)


async def test_a_bearerbox_killed_while_sending_loses_no_sms(
    sms_harness: SmsHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Acknowledged messages arrive. Others are recorded as unknown or tried again."""
    sms = sms_harness
    monkeypatch.setattr(gateway, "_REQUEST_SECONDS", 2.0)
    await sms.kannel.restart(max_pending_submits=str(_PENDING))
    kannel, centre = sms.kannel, sms.kannel.centre
    for number in range(60):
        mobile, email = f"+491510000{number:04d}", f"d{number}@example.org"
        await sms.harness.create(f"R-{number}", mobileNumber=mobile, email=email)
    sending = asyncio.create_task(sms.harness.run())
    await wait_for(lambda: len(centre.submitted) >= 15)
    await kannel.end_box("bearerbox")
    await kannel.start_box("bearerbox")
    await sending
    await kannel.wait_until_connected()
    sms.harness.clock.advance(timedelta(minutes=5))
    await sms.harness.run()
    await kannel.wait_until_empty()
    rows = await sms.harness.rows(_STATES)
    accepted, unknown = (
        {row["mobile_number"] for row in rows if row["state"] == state}
        for state in ("ACCEPTED", "UNKNOWN")
    )
    taken = Counter(f"+{each.destination}" for each in centre.accepted)
    assert len(accepted) + len(unknown) == len(rows) == 60
    assert accepted - taken.keys() == set()
    assert taken.keys() - accepted - unknown == set()
    assert taken.total() - len(taken) <= _PENDING
    print(f"accepted {len(accepted)}, unknown {len(unknown)}, arrived {taken.total()}")


async def test_the_portal_shows_why_an_sms_failed(sms_harness: SmsHarness) -> None:
    sms = sms_harness
    centre = sms.kannel.centre
    centre.answer = answers(Drop())
    claim_id = await sms.send()
    await wait_for_taken(centre, 1)
    await centre.send_receipt(centre.accepted[-1], "UNDELIV", "001")
    await sms.wait_for_reports(1)
    await sms.join()
    app = an_application(sms.harness.resources).app
    clerk = await sign_in(sms.harness.resources, app, sms.harness)
    reason = "The provider reported UNDELIV, error 001."
    lines = (await clerk.get("/portal/delivery-providers")).text
    assert NAME in lines
    assert reason in lines
    for path in ("/messages", f"/claims/{claim_id}"):
        assert reason in (await clerk.get(path)).text, path
