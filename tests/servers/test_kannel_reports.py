"""Claim and contact when an SMS fails behind a real Kannel: refusals, and receipts that are late,
repeated, in the wrong order, in other notations, forged or huge."""

import httpx
import pytest

from dunwell.contact.sending.references import build_reference
from tests.servers.smpp_simulator import (
    INVALID_DESTINATION,
    OK,
    SYSTEM_ERROR,
    THROTTLED,
    Answer,
    Submitted,
)
from tests.servers.sms_world import NAME, NUMBER, SmsHarness, wait_until

SENT = ("SMS", "ACCEPTED", None, False)
ARRIVED = ("SMS", "ACCEPTED", None, True)


async def a_sent_message(sms: SmsHarness) -> Submitted:
    before = len(sms.kannel.centre.accepted)
    await sms.send()

    async def is_there() -> bool:
        return len(sms.kannel.centre.accepted) > before

    await wait_until(is_there)
    return sms.kannel.centre.accepted[-1]


async def test_a_repeated_receipt_records_the_delivery_once(sms_harness: SmsHarness) -> None:
    sms = sms_harness
    submitted = await a_sent_message(sms)
    assert await sms.contacts() == [SENT]
    await sms.kannel.centre.send_receipt(submitted)
    await sms.wait_for_reports(1)
    await sms.kannel.centre.send_receipt(submitted)
    await sms.join()
    assert await sms.contacts() == [ARRIVED]
    assert await sms.reports() == ["DELIVERED"]


@pytest.mark.parametrize("stat", ["UNDELIV", "EXPIRED", "REJECTD", "DELETED"])
async def test_a_failure_receipt_starts_the_next_channel(
    sms_harness: SmsHarness, stat: str
) -> None:
    sms = sms_harness
    submitted = await a_sent_message(sms)
    await sms.kannel.centre.send_receipt(submitted, stat, "009")
    await sms.wait_for_reports(1)
    await sms.join()
    failed = ("SMS", "FAILED", f"The provider reported {stat}, error 009.", False)
    assert await sms.contacts() == [failed, ("EMAIL", "ACCEPTED", None, False)]
    assert await sms.suppressed() == []


async def test_a_failure_report_after_a_delivery_changes_nothing(
    sms_harness: SmsHarness,
) -> None:
    """A later failure report is stored and changes nothing."""
    sms = sms_harness
    submitted = await a_sent_message(sms)
    await sms.kannel.centre.send_receipt(submitted)
    await sms.wait_for_reports(1)
    await sms.join()
    url = f"{sms.served.origin}/callbacks/channels/{NAME}/{await read_reference_of(sms)}"
    async with httpx.AsyncClient() as http:
        answer = await http.get(url, params={"type": "2", "id": "900001"})
    assert (answer.status_code, answer.content) == (200, b"")
    await sms.join()
    assert await sms.contacts() == [ARRIVED]
    assert sorted(map(str, await sms.reports())) == ["DELIVERED", "IGNORED"]


@pytest.mark.parametrize(
    ("given", "shown", "msg_id_type"),
    [
        ("decimal", "decimal", "0x00"), ("decimal", "padded", "0x00"),
        ("hex", "decimal", "0x01"), ("decimal", "hex", "0x02"), ("hex", "hex", "0x03"),
    ],
)  # fmt: skip
async def test_a_receipt_is_matched_in_every_notation_of_its_id(
    sms_harness: SmsHarness, given: str, shown: str, msg_id_type: str
) -> None:
    sms = sms_harness
    await sms.kannel.restart(msg_id_type=msg_id_type)
    sms.kannel.centre.given_id = given  # type: ignore[assignment]
    sms.kannel.centre.receipt_id = shown  # type: ignore[assignment]
    submitted = await a_sent_message(sms)
    await sms.kannel.centre.send_receipt(submitted)
    await sms.wait_for_reports(1)
    await sms.join()
    assert await sms.contacts() == [ARRIVED]


async def test_a_receipt_for_an_unknown_message_has_no_effect(sms_harness: SmsHarness) -> None:
    """Kannel knows no such message, and the receipt of the next one still arrives."""
    sms = sms_harness
    submitted = await a_sent_message(sms)
    await sms.kannel.centre.send_receipt_of("123456789", submitted, "UNDELIV")
    await sms.kannel.centre.send_receipt(submitted)
    await sms.wait_for_reports(1)
    await sms.join()
    assert await sms.contacts() == [ARRIVED]


async def test_an_invalid_number_is_suppressed(sms_harness: SmsHarness) -> None:
    sms = sms_harness
    sms.kannel.centre.answer = lambda _submitted: INVALID_DESTINATION
    await sms.send()
    await sms.wait_for_reports(1)
    await sms.join()
    failed = ("SMS", "FAILED", "The provider refused it: error 0x0b.", False)
    assert await sms.contacts() == [failed, ("EMAIL", "ACCEPTED", None, False)]
    assert await sms.suppressed() == [("SMS", "BOUNCE")]


async def test_the_gateway_retries_a_throttled_message(
    sms_harness: SmsHarness,
) -> None:
    sms = sms_harness
    answers: list[Answer] = [THROTTLED]
    sms.kannel.centre.answer = lambda _submitted: answers.pop() if answers else OK
    submitted = await a_sent_message(sms)
    await sms.kannel.centre.send_receipt(submitted)
    await sms.wait_for_reports(1)
    await sms.join()
    assert await sms.contacts() == [ARRIVED]
    assert len(sms.kannel.centre.accepted) == 1


async def test_a_system_error_of_the_sms_centre_suppresses_no_number(
    sms_harness: SmsHarness,
) -> None:
    sms = sms_harness
    sms.kannel.centre.answer = lambda _submitted: SYSTEM_ERROR
    await sms.send()
    await sms.wait_for_reports(1)
    await sms.join()
    assert (await sms.contacts())[-1] == ("EMAIL", "ACCEPTED", None, False)
    assert await sms.suppressed() == []


async def read_reference_of(sms: SmsHarness) -> str:
    [row] = await sms.harness.rows(
        "SELECT communication_id FROM communications WHERE merchant_id = $1 AND channel = 'SMS'"
    )
    resources = sms.served.resources
    return build_reference(
        resources.keys, sms.harness.merchant.merchant_id, row["communication_id"]
    )


async def test_forged_and_oversized_callbacks_have_no_effect(
    sms_harness: SmsHarness, capsys: pytest.CaptureFixture[str]
) -> None:
    sms = sms_harness
    await a_sent_message(sms)
    reference = await read_reference_of(sms)
    other = ("b" if reference[0] == "a" else "a") + reference[1:]
    callbacks = f"{sms.served.origin}/callbacks/channels"
    async with httpx.AsyncClient() as http:
        for path in (f"{NAME}/{other}", f"{NAME}/x", f"{NAME}/{'é' * 9}", f"{NAME}/{reference}x"):
            answer = await http.get(f"{callbacks}/{path}?type=2&id=1")
            assert answer.status_code == 400, path
        assert (await http.get(f"{callbacks}/other/{reference}?type=2")).status_code == 404
        big = await http.post(f"{callbacks}/{NAME}/{reference}", content=b"x" * 20_000)
        assert big.status_code == 413
        many = "&".join(f"a{number}=1" for number in range(100))
        assert (await http.get(f"{callbacks}/{NAME}/{reference}?{many}")).status_code == 400
    assert await sms.reports() == []
    assert capsys.readouterr().out.count("CALLBACK_FORGED") == 5
    assert await sms.contacts() == [SENT]
    assert NUMBER not in capsys.readouterr().out


async def test_callbacks_without_a_valid_reference_are_rate_limited(
    sms_harness: SmsHarness,
) -> None:
    """A gateway in the same network is still served."""
    sms = sms_harness
    await a_sent_message(sms)
    callbacks = f"{sms.served.origin}/callbacks/channels/{NAME}"
    async with httpx.AsyncClient() as http:
        answers = [(await http.get(f"{callbacks}/x")).status_code for _ in range(32)]
        assert answers == [400] * 30 + [429] * 2
        good = f"{callbacks}/{await read_reference_of(sms)}?type=1&id=1"
        assert (await http.get(good)).status_code == 200
    assert len(await sms.reports()) == 1


async def test_at_most_forty_reports_of_a_message_are_recorded(sms_harness: SmsHarness) -> None:
    sms = sms_harness
    await a_sent_message(sms)
    url = f"{sms.served.origin}/callbacks/channels/{NAME}/{await read_reference_of(sms)}"
    async with httpx.AsyncClient() as http:
        for number in range(45):
            assert (await http.get(f"{url}?type=1&id={number}")).status_code == 200
    assert len(await sms.reports()) == 40
