"""`/outbox` shows the written messages in development only."""

import os
from collections.abc import AsyncIterator
from dataclasses import replace
from uuid import UUID

import pytest
from httpx import ASGITransport
from httpx import AsyncClient as Client
from starlette.applications import Starlette

from dunwell.adapters.channels.outbox.channel import OutboxEmail, OutboxLetter, OutboxSms
from dunwell.adapters.channels.outbox.pages import outbox_routes
from dunwell.contact.sending.channel import MessageFile, MessageImage
from dunwell.platform.resources import Resources
from tests.support.messages import a_message

_ID = "01900000-0000-7000-8000-000000000001"


@pytest.fixture
async def client(resources: Resources) -> AsyncIterator[Client]:
    app = Starlette(routes=outbox_routes(resources))
    async with Client(transport=ASGITransport(app), base_url="http://127.0.0.1:8000") as client:
        yield client


async def _send(resources: Resources, count: int = 1) -> None:
    adapter = OutboxEmail(resources.settings.data_dir)
    for number in range(1, count + 1):
        message = a_message(communication_id=UUID(int=number), subject=f"Nr. {number:03}")
        await adapter.send(message)
        path = resources.settings.data_dir / "outbox/1/EMAIL" / f"{UUID(int=number)}.eml"
        os.utime(path, (number, number))


def test_production_has_no_outbox_pages(resources: Resources) -> None:
    production = replace(resources, settings=replace(resources.settings, profile="production"))
    assert outbox_routes(production) == []


async def test_an_empty_outbox_says_so(client: Client) -> None:
    answer = await client.get("/outbox")
    assert answer.status_code == 200
    assert "No message has been written yet." in answer.text


async def test_messages_are_listed_newest_first_in_pages(
    client: Client, resources: Resources
) -> None:
    await _send(resources, count=60)
    first, second = [(await client.get("/outbox", params={"page": n})).text for n in (1, 2)]
    assert [f">Nr. {n:03}<" in first for n in (60, 11, 10)] == [True, True, False]
    assert first.index("Nr. 060") < first.index("Nr. 059")
    assert [f">Nr. {n:03}<" in second for n in (11, 10, 1)] == [False, True, True]
    assert 'href="/outbox?page=2"' in first
    assert 'rel="next"' not in second


async def test_a_message_is_shown_with_headers_text_and_a_frame(
    client: Client, resources: Resources
) -> None:
    await OutboxEmail(resources.settings.data_dir).send(a_message(subject="A <b> & C"))
    page = (await client.get(f"/outbox/1/{_ID}")).text
    assert "<h1>A &lt;b&gt; &amp; C</h1>" in page
    assert "<dt>To</dt><dd>ada@example.org</dd>" in page
    assert "bitte zahlen Sie 10,00 €." in page
    assert f'<iframe src="/outbox/1/{_ID}/html" sandbox ' in page


async def test_the_frame_can_neither_run_nor_load_anything(
    client: Client, resources: Resources
) -> None:
    html = "<style>p {color: red}</style><p>Hallo</p><script>alert(1)</script>"
    await OutboxEmail(resources.settings.data_dir).send(a_message(body_html=html))
    answer = await client.get(f"/outbox/1/{_ID}/html")
    assert answer.text.strip() == html
    assert answer.headers["content-security-policy"] == (
        "default-src 'none'; "
        "style-src-elem 'sha256-qBy9ErFlu/Xp8PeV8kGFFObuAwqXQwJkg+NvSChoaWY='; "
        "style-src-attr 'unsafe-inline'; img-src data:; frame-ancestors 'self'; sandbox"
    )


async def test_the_frame_shows_the_pictures_of_the_message(
    client: Client, resources: Resources
) -> None:
    message = a_message(
        body_html='<img src="cid:logo@brand">',
        logo=MessageImage("logo@brand", "image/png", b"\x89PNG"),
    )
    await OutboxEmail(resources.settings.data_dir).send(message)
    answer = await client.get(f"/outbox/1/{_ID}/html")
    assert answer.text.strip() == '<img src="data:image/png;base64,iVBORw==">'


async def test_the_eml_file_is_downloaded_unchanged(client: Client, resources: Resources) -> None:
    await OutboxEmail(resources.settings.data_dir).send(a_message())
    answer = await client.get(f"/outbox/1/{_ID}/eml")
    (path,) = resources.settings.data_dir.rglob("*.eml")
    assert answer.content == path.read_bytes()
    assert answer.headers["content-type"] == "message/rfc822"
    assert answer.headers["content-disposition"] == f'attachment; filename="{_ID}.eml"'


async def test_every_page_has_a_strict_policy(client: Client, resources: Resources) -> None:
    await OutboxEmail(resources.settings.data_dir).send(a_message())
    message = f"/outbox/1/{_ID}"
    for path in ("/outbox", message, f"{message}/eml", "/outbox/outbox.css", "/outbox/2/" + _ID):
        answer = await client.get(path)
        assert answer.headers["content-security-policy"].startswith("default-src 'none';")
        assert "unsafe" not in answer.headers["content-security-policy"]


@pytest.mark.parametrize("kind", ["", "/html", "/eml", "/pdf", "/enclosures/1"])
async def test_an_unknown_message_is_not_found(client: Client, kind: str) -> None:
    answer = await client.get(f"/outbox/1/{_ID}{kind}")
    assert answer.status_code == 404
    assert "There is no such message" in answer.text


async def test_an_incomplete_file_is_not_listed(client: Client, resources: Resources) -> None:
    folder = resources.settings.data_dir / "outbox/1/EMAIL"
    folder.mkdir(parents=True)
    (folder / f".{_ID}.1-1.part").write_text("half")
    assert "No message has been written yet." in (await client.get("/outbox")).text


async def test_an_sms_is_shown_as_on_a_phone(client: Client, resources: Resources) -> None:
    text = "Nordwind: 10,00 € offen.\nhttps://pay.example/q/abc"
    message = a_message(recipient="+4915112345678", sender="Nordwind", body_text=text)
    await OutboxSms(resources.settings.data_dir).send(message)
    page = (await client.get(f"/outbox/1/{_ID}")).text
    assert "<dt>Parts</dt><dd>1 (GSM-7, 50 characters)</dd>" in page
    assert '<p class="bubble" lang="de">Nordwind: 10,00 € offen.\n<a href="https://pay' in page
    assert ">Nordwind: 10,00 € offen." in (await client.get("/outbox")).text


async def test_a_letter_is_shown_with_its_pdf_and_enclosures(
    client: Client, resources: Resources
) -> None:
    document = MessageFile("letter.pdf", "application/pdf", b"%PDF-1.7 letter")
    file = MessageFile("Rechnung.pdf", "application/pdf", b"invoice")
    message = a_message(
        channel="LETTER", recipient="Ada\nKöln", document=document, attachments=(file,)
    )
    await OutboxLetter(resources.settings.data_dir).send(message)
    page = (await client.get(f"/outbox/1/{_ID}")).text
    assert "<dd>Ada<br>Köln</dd>" in page
    assert f'<iframe class="sheet" src="/outbox/1/{_ID}/pdf' in page
    pdf = await client.get(f"/outbox/1/{_ID}/pdf")
    assert (pdf.content, pdf.headers["content-type"]) == (document.content, "application/pdf")
    assert "unsafe" not in pdf.headers["content-security-policy"]
    enclosure = await client.get(f"/outbox/1/{_ID}/enclosures/1")
    assert enclosure.content == b"invoice"
    assert enclosure.headers["content-disposition"].startswith("attachment; ")
    assert (await client.get(f"/outbox/1/{_ID}/enclosures/2")).status_code == 404
