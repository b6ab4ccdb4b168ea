"""Uploads: a ticket for a good file; a bad one is refused, as early as it shows."""

import asyncio
from urllib.parse import urlsplit

import pytest

from dunwell.platform.http.multipart import UPLOADS
from tests.support.api import Api
from tests.support.api_server import a_server
from tests.support.claims import a_claim
from tests.support.files import a_pdf, an_image

MIB = 1024 * 1024


def naming(ticket_id: str) -> list[dict[str, str]]:
    return [{"sourceType": "TICKET", "source": ticket_id}]


async def test_a_file_gets_a_ticket_that_serves_many_claims(api: Api) -> None:
    answer = await api.nordwind.upload("invoice.pdf", a_pdf())

    assert answer.status_code == 200
    ticket_id = answer.json()["result"]["ticketId"]
    claims = [a_claim(name, attachments=naming(ticket_id)) for name in ("A-1", "A-2")]
    created = (await api.nordwind.post("/claims", claims)).json()["result"]
    assert [each["error"] for each in created] == [None, None]
    assert await api.count("attachments") == 2


async def test_while_too_much_is_coming_in_an_upload_is_to_wait(api: Api) -> None:
    try:
        UPLOADS.held_bytes += 1024 * MIB
        answer = await api.nordwind.upload("invoice.pdf", a_pdf())
    finally:
        UPLOADS.held_bytes -= 1024 * MIB
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    assert (await api.nordwind.upload("invoice.pdf", a_pdf())).status_code == 200
    assert UPLOADS.held_bytes == 0


async def test_an_unknown_and_another_merchants_ticket_are_refused_alike(api: Api) -> None:
    theirs = (await api.hansen.upload("tea.png", an_image("PNG"))).json()["result"]["ticketId"]
    unknown = "0195547a-1f40-7c3e-9a41-6f1f0c2f9d11"

    claims = [
        a_claim(name, attachments=naming(ticket))
        for name, ticket in (("A-1", theirs), ("A-2", unknown), ("A-3", "no-uuid"))
    ]
    results = (await api.nordwind.post("/claims", claims)).json()["result"]

    assert [each["error"]["type"] for each in results] == ["UnknownTicket"] * 3
    messages = [
        each["error"]["message"].replace(ticket, "X")
        for each, ticket in zip(results, (theirs, unknown, "no-uuid"), strict=True)
    ]
    assert len(set(messages)) == 1
    assert await api.count("claims") == 0


async def test_a_pdf_that_is_html_is_refused(api: Api) -> None:
    answer = await api.nordwind.upload("invoice.pdf", b"<html><script>alert(1)</script></html>")

    assert answer.status_code == 415
    assert answer.json()["error"]["type"] == "UnsupportedMediaType"
    assert "application/pdf" in answer.json()["error"]["details"]["allowed"]
    assert await api.count("uploads") == 0


@pytest.mark.parametrize(
    ("form", "faulty"),
    [
        ({"friendlyName": (None, "Invoice")}, {"/fileName"}),
        ({"fileName": ("a.pdf", b"%PDF")}, {"/friendlyName"}),
        ({"fileName": (None, "text"), "friendlyName": (None, "Invoice")}, {"/fileName"}),
        ({"filename": ("a.pdf", b"%PDF")}, {"/friendlyName", "/fileName", "/filename"}),
        ({"fileName": ("a.pdf", b"%PDF"), "friendlyName": (None, "a\x00b")}, {"/friendlyName"}),
        ({"fileName": ("a.pdf", b"%PDF"), "friendlyName": (None, b"\xff")}, {"/friendlyName"}),
        ({"fileName": ("a.pdf", b""), "friendlyName": (None, "Invoice")}, {"/fileName"}),
    ],
)
async def test_a_form_with_faults_names_them_all(
    api: Api, form: dict[str, object], faulty: set[str]
) -> None:
    answer = await api.nordwind.post("/uploads", files=form)

    assert answer.status_code == 422, answer.text
    assert {each["path"] for each in answer.json()["error"]["details"]["errors"]} == faulty
    assert await api.count("uploads") == 0


@pytest.mark.parametrize(
    ("content_type", "content", "status", "kind"),
    [
        ("application/json", b"{}", 415, "UnsupportedMediaType"),
        ("multipart/form-data", b"x", 400, "InvalidRequest"),
        ("multipart/form-data; boundary=b", b"--b\r\ncut", 400, "InvalidRequest"),
        ("multipart/form-data; boundary=b", b"no form at all", 400, "InvalidRequest"),
        ("multipart/form-data; boundary=b", b"", 400, "InvalidRequest"),
    ],
)
async def test_what_is_no_form_is_refused(
    api: Api, content_type: str, content: bytes, status: int, kind: str
) -> None:
    headers = {"Content-Type": content_type}
    answer = await api.nordwind.post("/uploads", content=content, headers=headers)

    assert (answer.status_code, answer.json()["error"]["type"]) == (status, kind)


@pytest.mark.parametrize("is_announced", [True, False])
async def test_thirty_megabytes_are_refused_while_they_stream(api: Api, is_announced: bool) -> None:
    async with a_server(api.app) as origin:
        sent, answer = await send_until_answered(api, origin, is_announced=is_announced)

    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b'"type":"PayloadTooLarge"' in answer
    assert b'"limit":10' in answer
    assert b"connection: close" in answer.lower()
    assert sent < 20 * MIB
    assert await api.count("uploads") == 0


async def send_until_answered(api: Api, origin: str, *, is_announced: bool) -> tuple[int, bytes]:
    """Send a 30 MB file over a plain socket until there is an answer: bytes sent, the answer."""
    address = urlsplit(origin)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    size = f"Content-Length: {30 * MIB}" if is_announced else "Transfer-Encoding: chunked"
    head = (
        f"POST /api/merchants/{api.nordwind.merchant_id}/uploads HTTP/1.1\r\nHost: localhost\r\n"
        f"Authorization: Bearer {api.nordwind.token}\r\n"
        f"Content-Type: multipart/form-data; boundary=b\r\n{size}\r\n\r\n"
    )
    writer.write(head.encode())
    part = b'--b\r\nContent-Disposition: form-data; name="fileName"; filename="a.pdf"\r\n\r\n'
    answering = asyncio.create_task(reader.readuntil(b"}}"))
    sent = 0
    for piece in (part, *[b"x" * 65536] * 480):
        if answering.done():
            break
        writer.write(piece if is_announced else b"%x\r\n%s\r\n" % (len(piece), piece))
        await writer.drain()
        sent += len(piece)
    answer = await answering
    writer.close()
    return sent, answer
