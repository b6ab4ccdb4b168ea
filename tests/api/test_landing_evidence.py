"""A debtor's files: cleaned, saved with the draft, added later, and deleted if not needed."""

import asyncio
import re
from datetime import timedelta
from typing import Any

import pytest

from dunwell.core.files.storage import SealedFiles
from dunwell.interfaces.landing.sweep_landing import delete_expired_debtor_data
from dunwell.interfaces.worker.housekeeping import Housekeeping
from dunwell.platform.clock import MovableClock
from tests.support.debtor_disputes import (
    disputes,
    files,
    list_stored_files,
    open_dispute_form,
    sign_in_with_letter_code,
)
from tests.support.disputes import REJECTED, dispute, read_disputes, resolve
from tests.support.files import a_pdf, an_image
from tests.support.landing import OWN_FORM, LandingHarness, read_hidden

FIVE = [(f"{number}.png", an_image("PNG", number + 1)) for number in range(5)]


async def test_files_of_every_type_come_with_the_dispute(landing: LandingHarness) -> None:
    await sign_in_with_letter_code(landing)
    path = await open_dispute_form(landing, "OTHER")

    page = await landing.browser.send(
        path,
        [("offer.pdf", a_pdf()), ("a.jpg", an_image("JPEG")), ("b.png", an_image("PNG")),
         ("c.webp", an_image("WEBP"))],
        do="send", message="See there",
    )  # fmt: skip

    assert await files(landing) == [
        ("offer.pdf", "application/pdf"), ("a.jpg", "image/jpeg"), ("b.png", "image/png"),
        ("c.webp", "image/webp"),
    ]  # fmt: skip
    assert "offer.pdf" in page.text
    assert len(list_stored_files(landing)) == 4


async def test_a_refused_file_does_not_lose_the_input_and_other_files(
    landing: LandingHarness,
) -> None:
    await sign_in_with_letter_code(landing)
    path = await open_dispute_form(landing, "OTHER")

    page = await landing.browser.send(
        path, [("a.docx", b"PK\x03\x04"), ("b.png", an_image("PNG"))], do="send", message="See"
    )

    assert page.status_code == 422
    assert "We cannot read “a.docx”." in page.text
    assert "\nSee</textarea>" in page.text
    assert await disputes(landing) == []
    await landing.browser.send(path, do="send", message="See")
    assert await files(landing) == [("b.png", "image/png")]


async def test_a_file_removed_before_sending_is_deleted(landing: LandingHarness) -> None:
    await sign_in_with_letter_code(landing)
    path = await open_dispute_form(landing, "OTHER")
    page = await landing.browser.send(path, FIVE[:2], do="keep", message="See")
    tickets = re.findall(r'name="remove" value="([^"]+)"', page.text)

    page = await landing.browser.send(path, remove=tickets[0], message="See")

    assert re.findall(r'name="remove" value="([^"]+)"', page.text) == tickets[1:]
    assert len(list_stored_files(landing)) == await landing.payments.count("uploads") == 1


async def test_a_sixth_file_is_refused(landing: LandingHarness) -> None:
    await sign_in_with_letter_code(landing)
    path = await open_dispute_form(landing, "OTHER")
    await landing.browser.send(path, FIVE[:3], do="keep", message="See")

    page = await landing.browser.send(
        path, [*FIVE[3:], ("6.pdf", a_pdf())], do="keep", message="See"
    )

    assert page.status_code == 422
    assert "There are too many files." in page.text
    assert "6.pdf" not in page.text
    assert len(list_stored_files(landing)) == await landing.payments.count("uploads") == 5


async def test_only_five_of_six_files_in_one_form_are_accepted(landing: LandingHarness) -> None:
    await sign_in_with_letter_code(landing)
    path = await open_dispute_form(landing, "OTHER")

    page = await landing.browser.send(path, [*FIVE, ("6.pdf", a_pdf())], do="send", message="See")

    assert page.status_code == 422
    assert page.text.count("There are too many files.") == 2
    assert len(list_stored_files(landing)) == 5


async def test_a_file_that_is_sent_again_is_stored_once(landing: LandingHarness) -> None:
    await sign_in_with_letter_code(landing)
    path = await open_dispute_form(landing, "OTHER")
    for _ in range(2):
        await landing.browser.send(path, FIVE[:1], do="keep", message="See")

    assert len(list_stored_files(landing)) == await landing.payments.count("uploads") == 1


async def test_up_to_twenty_files_can_be_added_to_an_open_dispute(landing: LandingHarness) -> None:
    opened = await dispute(landing.payments.harness, landing.claim_id)
    await sign_in_with_letter_code(landing)
    path = f"/claim/disputes/{opened.dispute_id}"
    twenty = [(f"{number}.png", an_image("PNG", number + 1)) for number in range(20)]
    for first in range(0, 20, 5):
        await landing.browser.get(path)
        await landing.browser.send(f"{path}/files", twenty[first : first + 5])

    await landing.browser.get(f"{path}?lang=en")
    page = await landing.browser.send(f"{path}/files?lang=en", [("21.pdf", a_pdf())])

    assert page.status_code == 422
    assert "There are too many files." in page.text
    assert len(await files(landing)) == len(list_stored_files(landing)) == 20


async def test_files_added_by_a_double_click_are_stored_once(landing: LandingHarness) -> None:
    opened = await dispute(landing.payments.harness, landing.claim_id)
    await sign_in_with_letter_code(landing)
    path = f"/claim/disputes/{opened.dispute_id}"
    page = await landing.browser.get(path)
    token = read_hidden(page.text, f"{path}/files")["token"]
    parts: list[Any] = [("token", (None, token)), *(("files", each) for each in FIVE[:2])]
    parts.append(("files", ("again.png", FIVE[0][1])))

    answers = await asyncio.gather(*(
        landing.browser.http.post(f"{path}/files", files=parts, headers=OWN_FORM)
        for _ in range(4)
    ))  # fmt: skip

    assert {answer.headers.get("Location") for answer in answers} == {path}
    assert len(await files(landing)) == len(list_stored_files(landing)) == 2
    assert await landing.payments.count("uploads") == 2


async def test_an_answered_dispute_accepts_no_more_files(landing: LandingHarness) -> None:
    opened = await dispute(landing.payments.harness, landing.claim_id)
    await sign_in_with_letter_code(landing)
    path = f"/claim/disputes/{opened.dispute_id}"
    await landing.browser.get(path)
    await resolve(landing.payments.harness, opened, REJECTED)

    page = await landing.browser.send(f"{path}/files", FIVE[:1])

    assert (page.status_code, page.url.path) == (200, path)
    assert await files(landing) == []
    assert list_stored_files(landing) == []


async def test_drafts_and_their_unsent_files_are_deleted_after_thirty_days(
    landing: LandingHarness, clock: MovableClock
) -> None:
    await sign_in_with_letter_code(landing)
    path = await open_dispute_form(landing, "OTHER")
    await landing.browser.send(path, FIVE[:1], do="send", message="See")
    path = await open_dispute_form(landing, "DEFECTIVE")
    await landing.browser.send(path, FIVE[1:3], do="keep", message="See")
    resources = landing.payments.resources
    housekeeping = Housekeeping(resources, SealedFiles.open(resources))
    clock.advance(timedelta(days=30))
    await delete_expired_debtor_data(resources)
    await housekeeping.run_once()
    assert await landing.payments.count("debtor_drafts") == 2
    assert await landing.payments.count("uploads") == len(list_stored_files(landing)) == 3

    clock.advance(timedelta(hours=2))
    await delete_expired_debtor_data(resources)
    await housekeeping.run_once()

    assert await landing.payments.count("debtor_drafts") == 0
    assert await landing.payments.count("uploads") == len(list_stored_files(landing)) == 1
    assert await files(landing) == [("0.png", "image/png")]


@pytest.mark.parametrize("size", [10 * 1024 * 1024 + 1, 20 * 1024 * 1024])
async def test_a_file_that_is_too_large_is_named_and_the_others_are_kept(
    landing: LandingHarness, size: int
) -> None:
    await sign_in_with_letter_code(landing)
    path = await open_dispute_form(landing, "OTHER")

    page = await landing.browser.send(
        path, [("huge.pdf", b"%PDF-1.7\n" + bytes(size)), FIVE[0]], do="send", message="See"
    )

    assert page.status_code == 422
    assert "“huge.pdf” is larger than 10&nbsp;MB." in page.text
    assert "\nSee</textarea>" in page.text
    assert "0.png" in page.text
    assert len(list_stored_files(landing)) == 1


async def test_a_disputes_page_lists_its_files(landing: LandingHarness) -> None:
    await sign_in_with_letter_code(landing)
    path = await open_dispute_form(landing, "OTHER")
    await landing.browser.send(path, FIVE[:1], do="send", message="See")
    [opened] = await read_disputes(landing.payments.harness, landing.claim_id)

    page = await landing.browser.get(f"/claim/disputes/{opened.dispute_id}")

    assert "<bdi>0.png</bdi>" in page.text


async def _fill(
    landing: LandingHarness, path: str, chosen: list[tuple[str, bytes]]
) -> dict[str, Any]:
    """Return the form for more files as a tab holds it."""
    page = await landing.browser.get(path)
    token = read_hidden(page.text, f"{path}/files")["token"]
    parts: list[Any] = [("token", (None, token)), *(("files", each) for each in chosen)]
    return {"files": parts, "headers": OWN_FORM}


async def _open_case(landing: LandingHarness) -> str:
    opened = await dispute(landing.payments.harness, landing.claim_id)
    await sign_in_with_letter_code(landing)
    return f"/claim/disputes/{opened.dispute_id}"


@pytest.mark.parametrize("action", ["send-kept", "drop-kept"])
async def test_files_from_an_ended_session_are_saved_and_offered(
    landing: LandingHarness, clock: MovableClock, action: str
) -> None:
    path = await _open_case(landing)
    given = await _fill(landing, path, FIVE[:2])
    clock.advance(timedelta(hours=1))

    answer = await landing.browser.http.post(f"{path}/files", **given)

    assert answer.status_code == 403
    assert "Ihre Dateien sind gespeichert. Sie wurden noch nicht abgeschickt." in answer.text
    assert await files(landing) == []
    clock.advance(timedelta(days=29))
    await landing.browser.type_code(await landing.give_code())
    assert "Mit Ihrem Text weitermachen" in (await landing.browser.get("/claim")).text
    page = await landing.browser.get(path)
    assert [name for name, _ in FIVE[:2] if f"<li><bdi>{name}</bdi></li>" in page.text] == [
        "0.png", "1.png",
    ]  # fmt: skip
    page = await landing.browser.send(f"{path}/files", do=action)
    assert "Dateien, die Sie noch nicht gesendet haben" not in page.text
    is_sent = action == "send-kept"
    assert len(await files(landing)) == len(list_stored_files(landing)) == (2 if is_sent else 0)


async def test_files_from_a_replaced_session_are_saved_and_offered(
    landing: LandingHarness, clock: MovableClock
) -> None:
    path = await _open_case(landing)
    given = await _fill(landing, path, FIVE[:1])
    clock.advance(timedelta(hours=1))
    await landing.browser.type_code(await landing.give_code())

    answer = await landing.browser.http.post(f"{path}/files", **given)

    assert answer.status_code == 409
    assert "Ihre Dateien sind gespeichert." in answer.text
    assert "<li><bdi>0.png</bdi></li>" in answer.text
    assert await files(landing) == []


async def test_a_link_alone_does_not_show_saved_files(
    landing: LandingHarness, clock: MovableClock
) -> None:
    path = await _open_case(landing)
    given = await _fill(landing, path, FIVE[:1])
    clock.advance(timedelta(hours=1))
    await landing.browser.http.post(f"{path}/files", **given)

    await landing.open()
    page = await landing.browser.get(path)
    sent = await landing.browser.http.post(f"{path}/files", **given)

    assert "0.png" not in page.text
    assert (sent.status_code, sent.headers["Location"]) == (303, "/claim/verify?for=claim")
    assert await files(landing) == []


@pytest.mark.parametrize("headers", [{"Sec-Fetch-Site": "cross-site"}, {"Origin": "null"}, {}])
async def test_files_of_a_stale_form_of_unknown_origin_are_refused(
    landing: LandingHarness, clock: MovableClock, headers: dict[str, str]
) -> None:
    path = await _open_case(landing)
    given = await _fill(landing, path, FIVE[:1])
    clock.advance(timedelta(hours=1))
    await landing.browser.type_code(await landing.give_code())
    foreign = given | {"headers": headers}

    answer = await landing.browser.http.post(f"{path}/files", **foreign)

    assert answer.status_code == 403
    assert list_stored_files(landing) == []
