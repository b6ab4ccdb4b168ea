"""Attacks on the dispute forms: hostile files and names, foreign forms, and other debtors."""

import time
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.api.test_api_hostile_files import read_all
from tests.support.debtor_disputes import (
    disputes,
    list_stored_files,
    open_dispute_form,
    sign_in_with_letter_code,
)
from tests.support.disputes import dispute
from tests.support.files import a_pdf, an_image
from tests.support.harness import ERP
from tests.support.hostile_files import CLEANABLE, REFUSED
from tests.support.hostile_pdfs import EVIL
from tests.support.landing import OWN_FORM, LandingHarness, read_hidden

EVIL_TEXT = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>{{ 7777777*3 }}%(name)s"
REASON = "/claim/dispute/OTHER"


async def test_hostile_files_that_can_be_cleaned_are_stored_clean(landing: LandingHarness) -> None:
    await sign_in_with_letter_code(landing)
    for name, content in CLEANABLE.values():
        # Some files are equal after cleaning, and one dispute stores them once.
        opened = await dispute(landing.payments.harness, landing.claim_id, actor=ERP)
        path = f"/claim/disputes/{opened.dispute_id}"
        await landing.browser.get(path)
        page = await landing.browser.send(f"{path}/files", [(name, content)])
        assert page.status_code == 200, (name, page.text)

    contents = [path.read_bytes() for path in list_stored_files(landing)]
    assert len(contents) == len(CLEANABLE)
    assert not any(EVIL in read_all(content) for content in contents)


async def test_other_hostile_files_are_refused_and_not_stored(landing: LandingHarness) -> None:
    await sign_in_with_letter_code(landing)
    path = await open_dispute_form(landing, "OTHER")
    assert len(CLEANABLE) + len(REFUSED) >= 40
    for name, make in REFUSED.values():
        page = await landing.browser.send(path, [(name, make())], do="send", message="See")
        assert page.status_code == 422, name
        assert f"We cannot read “{name}”." in page.text

    assert await landing.payments.count("uploads") == 0
    assert list_stored_files(landing) == []
    assert await disputes(landing) == []


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("../../etc/passwd.pdf", "passwd.pdf"),
        ("C:\\\\evil\\\\a.pdf", "a.pdf"),
        ("a\u202efdp.pdf", "afdp.pdf"),
        ("a\u2028b\u200b.pdf", "ab.pdf"),
        ("<img src=x onerror=alert(1)>.pdf", "&lt;img src=x onerror=alert(1)&gt;.pdf"),
        ("x" * 300 + ".pdf", "x" * 116 + ".pdf"),
        (" .pdf", ".pdf"),
    ],
)
async def test_deceptive_characters_are_removed_from_a_files_name(
    landing: LandingHarness, given: str, shown: str
) -> None:
    await sign_in_with_letter_code(landing)
    path = await open_dispute_form(landing, "OTHER")

    page = await landing.browser.send(path, [(given, a_pdf())], do="keep", message="See")

    assert f"<bdi>{shown}</bdi>" in page.text


async def test_a_line_break_in_a_files_name_injects_no_header(landing: LandingHarness) -> None:
    await sign_in_with_letter_code(landing)
    fields = await _read_form(landing)
    body = _compose(fields, b'files"; filename="a\r\nX: 1.pdf', a_pdf())

    answer = await _post(landing, body)

    assert answer.status_code == 400
    assert await landing.payments.count("debtor_drafts") == 0


@pytest.mark.parametrize("reason", ["NOT_MY_DEBT", "INSOLVENCY", "DEBTOR_ALREADY_PAID"])
async def test_texts_are_escaped(landing: LandingHarness, reason: str) -> None:
    await sign_in_with_letter_code(landing)
    path = await open_dispute_form(landing, reason)
    names = ("message", "person", "court", "number", "amount", "way", "day_day", "day_year")

    pages = [await landing.browser.send(path, do="keep", **dict.fromkeys(names, EVIL_TEXT))]
    pages.append(await landing.browser.send(path, do="send", message=EVIL_TEXT, number=EVIL_TEXT))

    assert [each["message"] for each in await disputes(landing)] == [EVIL_TEXT]
    for page in pages:
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page.text
        assert "<script>" not in page.text
        assert "<img src=x" not in page.text
        assert "23333331" not in page.text


async def test_files_before_the_token_are_not_read(landing: LandingHarness) -> None:
    await sign_in_with_letter_code(landing)
    fields = await _read_form(landing)
    parts: list[Any] = [("files", ("a.pdf", a_pdf())), *((n, (None, t)) for n, t in fields.items())]

    answer = await landing.browser.http.post(REASON, files=parts, headers=OWN_FORM)

    assert answer.status_code == 403
    await _assert_nothing(landing)


async def test_a_dispute_recorded_by_the_merchant_cannot_be_withdrawn(
    landing: LandingHarness,
) -> None:
    opened = await dispute(landing.payments.harness, landing.claim_id, actor=ERP)
    await sign_in_with_letter_code(landing)
    path = f"/claim/disputes/{opened.dispute_id}"
    page = await landing.browser.get(path)

    answer = await landing.browser.post(
        f"{path}/withdraw", token=read_hidden(page.text, "/claim/end")["token"]
    )

    assert (answer.status_code, answer.headers["Location"]) == (303, path)
    assert f"{path}/withdraw" not in page.text
    assert [each["state"] for each in await disputes(landing)] == ["OPEN"]


async def test_another_claims_draft_and_file_cannot_be_addressed(landing: LandingHarness) -> None:
    stranger = landing.visitor()
    [other] = await landing.payments.harness.create("INV-OTHER", email="other@example.org")
    await stranger.type_code(await landing.give_code(other))
    await stranger.get(REASON)
    page = await stranger.send(REASON, [FILE], do="keep", message="Mine")
    theirs = page.text.split('name="remove" value="')[1].partition('"')[0]
    await sign_in_with_letter_code(landing)
    await landing.browser.get(REASON)

    await landing.browser.send(REASON, remove=theirs, message="See")

    assert await landing.payments.count("uploads") == len(list_stored_files(landing)) == 1


async def test_too_many_parts_are_refused(landing: LandingHarness) -> None:
    await sign_in_with_letter_code(landing)
    fields = await _read_form(landing)
    parts: list[Any] = [*((n, (None, t)) for n, t in fields.items()),
                        *((f"x{n}", (None, "y")) for n in range(40))]  # fmt: skip

    answer = await landing.browser.http.post(REASON, files=parts, headers=OWN_FORM)

    assert answer.status_code == 400
    await _assert_nothing(landing)


@pytest.mark.parametrize("announces", [True, False])
async def test_a_form_that_is_too_large_is_refused_at_once_and_stores_nothing(
    landing: LandingHarness, announces: bool
) -> None:
    await sign_in_with_letter_code(landing)
    fields = await _read_form(landing) | {"message": "Kept all the same"}
    body = _compose(fields, b'files"; filename="a.pdf', b"%PDF-1.7\n" + bytes(60 * 1024 * 1024))
    asked = 0

    async def stream() -> AsyncIterator[bytes]:
        nonlocal asked
        for start in range(0, len(body), 65536):
            asked += 1
            yield body[start : start + 65536]

    headers = {"Content-Length": str(len(body))} if announces else {}
    began = time.monotonic()
    answer = await _post(landing, stream(), headers)

    assert answer.status_code == 422
    assert time.monotonic() - began < 1
    assert "Die Dateien sind zusammen zu groß." in answer.text
    assert "Kept all the same" in answer.text
    assert list_stored_files(landing) == []


async def test_an_incomplete_form_stores_nothing(landing: LandingHarness) -> None:
    await sign_in_with_letter_code(landing)
    fields = await _read_form(landing)
    body = _compose(fields, b'files"; filename="a.png', an_image("PNG"))

    answer = await _post(landing, body[:-20])

    assert answer.status_code == 400
    await _assert_nothing(landing)


FILE = ("a.pdf", a_pdf())
_BOUNDARY = b"----dunwelltest"


async def _read_form(landing: LandingHarness) -> dict[str, str]:
    page = await landing.browser.get(REASON)
    return read_hidden(page.text, REASON) | {"do": "send", "message": "See"}


def _compose(fields: dict[str, str], head: bytes, content: bytes) -> bytes:
    """Compose a form with one file and the given part header."""
    texts = b"".join(
        b'--%s\r\nContent-Disposition: form-data; name="%s"\r\n\r\n%s\r\n'
        % (_BOUNDARY, name.encode(), text.encode())
        for name, text in fields.items()
    )
    file = b'--%s\r\nContent-Disposition: form-data; name="%s"\r\n\r\n%s\r\n--%s--\r\n'
    return texts + file % (_BOUNDARY, head, content, _BOUNDARY)


async def _post(
    landing: LandingHarness, content: Any, headers: dict[str, str] | None = None
) -> Any:
    given = {"Content-Type": f"multipart/form-data; boundary={_BOUNDARY.decode()}"}
    return await landing.browser.http.post(
        REASON, content=content, headers={**OWN_FORM, **given, **(headers or {})}
    )


async def _assert_nothing(landing: LandingHarness) -> None:
    for table in ("debtor_drafts", "uploads", "disputes"):
        assert await landing.payments.count(table) == 0, table
    assert list_stored_files(landing) == []
