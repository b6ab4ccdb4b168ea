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
from tests.servers.sms_world import NAME, NUMBER, SmsProcess, wait_until

SENT = ("SMS", "ACCEPTED", None, False)
ARRIVED = ("SMS", "ACCEPTED", None, True)


async def a_sent_message(process: SmsProcess) -> Submitted:
    before = len(process.kannel.centre.accepted)
    await process.send()

    async def is_there() -> bool:
        return len(process.kannel.centre.accepted) > before

    await wait_until(is_there)
    return process.kannel.centre.accepted[-1]


async def test_a_repeated_receipt_records_the_delivery_once(an_sms_process: SmsProcess) -> None:
    process = an_sms_process
    submitted = await a_sent_message(process)
    assert await process.contacts() == [SENT]
    await process.kannel.centre.send_receipt(submitted)
    await process.wait_for_reports(1)
    await process.kannel.centre.send_receipt(submitted)
    await process.join()
    assert await process.contacts() == [ARRIVED]
    assert await process.reports() == ["DELIVERED"]


@pytest.mark.parametrize("stat", ["UNDELIV", "EXPIRED", "REJECTD", "DELETED"])
async def test_a_failure_receipt_starts_the_next_channel(
    an_sms_process: SmsProcess, stat: str
) -> None:
    process = an_sms_process
    submitted = await a_sent_message(process)
    await process.kannel.centre.send_receipt(submitted, stat, "009")
    await process.wait_for_reports(1)
    await process.join()
    failed = ("SMS", "FAILED", f"The provider reported {stat}, error 009.", False)
    assert await process.contacts() == [failed, ("EMAIL", "ACCEPTED", None, False)]
    assert await process.suppressed() == []


async def test_a_failure_report_after_a_delivery_changes_nothing(
    an_sms_process: SmsProcess,
) -> None:
    """A later failure report is stored and changes nothing."""
    process = an_sms_process
    submitted = await a_sent_message(process)
    await process.kannel.centre.send_receipt(submitted)
    await process.wait_for_reports(1)
    await process.join()
    url = f"{process.served.origin}/callbacks/channels/{NAME}/{await read_reference_of(process)}"
    async with httpx.AsyncClient() as http:
        answer = await http.get(url, params={"type": "2", "id": "900001"})
    assert (answer.status_code, answer.content) == (200, b"")
    await process.join()
    assert await process.contacts() == [ARRIVED]
    assert sorted(map(str, await process.reports())) == ["DELIVERED", "IGNORED"]


@pytest.mark.parametrize(
    ("given", "shown", "msg_id_type"),
    [
        ("decimal", "decimal", "0x00"), ("decimal", "padded", "0x00"),
        ("hex", "decimal", "0x01"), ("decimal", "hex", "0x02"), ("hex", "hex", "0x03"),
    ],
)  # fmt: skip
async def test_a_receipt_is_matched_in_every_notation_of_its_id(
    an_sms_process: SmsProcess, given: str, shown: str, msg_id_type: str
) -> None:
    process = an_sms_process
    await process.kannel.restart(msg_id_type=msg_id_type)
    process.kannel.centre.given_id = given  # type: ignore[assignment]
    process.kannel.centre.receipt_id = shown  # type: ignore[assignment]
    submitted = await a_sent_message(process)
    await process.kannel.centre.send_receipt(submitted)
    await process.wait_for_reports(1)
    await process.join()
    assert await process.contacts() == [ARRIVED]


async def test_a_receipt_for_an_unknown_message_has_no_effect(an_sms_process: SmsProcess) -> None:
    """Kannel knows no such message, and the receipt of the next one still arrives."""
    process = an_sms_process
    submitted = await a_sent_message(process)
    await process.kannel.centre.send_receipt_of("123456789", submitted, "UNDELIV")
    await process.kannel.centre.send_receipt(submitted)
    await process.wait_for_reports(1)
    await process.join()
    assert await process.contacts() == [ARRIVED]


async def test_an_invalid_number_is_suppressed(an_sms_process: SmsProcess) -> None:
    process = an_sms_process
    process.kannel.centre.answer = lambda _submitted: INVALID_DESTINATION
    await process.send()
    await process.wait_for_reports(1)
    await process.join()
    failed = ("SMS", "FAILED", "The provider refused it: error 0x0b.", False)
    assert await process.contacts() == [failed, ("EMAIL", "ACCEPTED", None, False)]
    assert await process.suppressed() == [("SMS", "BOUNCE")]


async def test_the_gateway_retries_a_throttled_message(
    an_sms_process: SmsProcess,
) -> None:
    process = an_sms_process
    answers: list[Answer] = [THROTTLED]
    process.kannel.centre.answer = lambda _submitted: answers.pop() if answers else OK
    submitted = await a_sent_message(process)
    await process.kannel.centre.send_receipt(submitted)
    await process.wait_for_reports(1)
    await process.join()
    assert await process.contacts() == [ARRIVED]
    assert len(process.kannel.centre.accepted) == 1


async def test_a_system_error_of_the_sms_centre_suppresses_no_number(
    an_sms_process: SmsProcess,
) -> None:
    process = an_sms_process
    process.kannel.centre.answer = lambda _submitted: SYSTEM_ERROR
    await process.send()
    await process.wait_for_reports(1)
    await process.join()
    assert (await process.contacts())[-1] == ("EMAIL", "ACCEPTED", None, False)
    assert await process.suppressed() == []


async def read_reference_of(process: SmsProcess) -> str:
    [row] = await process.harness.rows(
        "SELECT communication_id FROM communications WHERE merchant_id = $1 AND channel = 'SMS'"
    )
    resources = process.served.resources
    return build_reference(
        resources.keys, process.harness.merchant.merchant_id, row["communication_id"]
    )


async def test_forged_and_oversized_callbacks_have_no_effect(
    an_sms_process: SmsProcess, capsys: pytest.CaptureFixture[str]
) -> None:
    process = an_sms_process
    await a_sent_message(process)
    reference = await read_reference_of(process)
    other = ("b" if reference[0] == "a" else "a") + reference[1:]
    callbacks = f"{process.served.origin}/callbacks/channels"
    async with httpx.AsyncClient() as http:
        for path in (f"{NAME}/{other}", f"{NAME}/x", f"{NAME}/{'é' * 9}", f"{NAME}/{reference}x"):
            answer = await http.get(f"{callbacks}/{path}?type=2&id=1")
            assert answer.status_code == 400, path
        assert (await http.get(f"{callbacks}/other/{reference}?type=2")).status_code == 404
        big = await http.post(f"{callbacks}/{NAME}/{reference}", content=b"x" * 20_000)
        assert big.status_code == 413
        many = "&".join(f"a{number}=1" for number in range(100))
        assert (await http.get(f"{callbacks}/{NAME}/{reference}?{many}")).status_code == 400
    assert await process.reports() == []
    assert capsys.readouterr().out.count("CALLBACK_FORGED") == 5
    assert await process.contacts() == [SENT]
    assert NUMBER not in capsys.readouterr().out


async def test_callbacks_without_a_valid_reference_are_rate_limited(
    an_sms_process: SmsProcess,
) -> None:
    """A gateway in the same network is still served."""
    process = an_sms_process
    await a_sent_message(process)
    callbacks = f"{process.served.origin}/callbacks/channels/{NAME}"
    async with httpx.AsyncClient() as http:
        answers = [(await http.get(f"{callbacks}/x")).status_code for _ in range(32)]
        assert answers == [400] * 30 + [429] * 2
        good = f"{callbacks}/{await read_reference_of(process)}?type=1&id=1"
        assert (await http.get(good)).status_code == 200
    assert len(await process.reports()) == 1


async def test_at_most_forty_reports_of_a_message_are_recorded(an_sms_process: SmsProcess) -> None:
    process = an_sms_process
    await a_sent_message(process)
    url = f"{process.served.origin}/callbacks/channels/{NAME}/{await read_reference_of(process)}"
    async with httpx.AsyncClient() as http:
        for number in range(45):
            assert (await http.get(f"{url}?type=1&id={number}")).status_code == 200
    assert len(await process.reports()) == 40
