"""Uploads: a valid file gets a ticket, an invalid one is refused as early as possible."""

import asyncio
from urllib.parse import urlsplit

import pytest

from dunwell.platform.http.multipart import UPLOADS
from tests.support.api import Api
from tests.support.api_server import a_server
from tests.support.claims import a_claim
from tests.support.files import a_pdf

MIB = 1024 * 1024


def build_attachments(ticket_id: str) -> list[dict[str, str]]:
    return [{"sourceType": "TICKET", "source": ticket_id}]


async def test_the_ticket_of_a_file_can_be_used_for_several_claims(api: Api) -> None:
    answer = await api.nordwind.upload("invoice.pdf", a_pdf())

    assert answer.status_code == 200
    ticket_id = answer.json()["result"]["ticketId"]
    claims = [a_claim(name, attachments=build_attachments(ticket_id)) for name in ("A-1", "A-2")]
    created = (await api.nordwind.post("/claims", claims)).json()["result"]
    assert [each["error"] for each in created] == [None, None]
    assert await api.count("attachments") == 2


async def test_an_upload_is_refused_for_a_moment_while_too_much_is_being_received(api: Api) -> None:
    try:
        UPLOADS.held_bytes += 1024 * MIB
        answer = await api.nordwind.upload("invoice.pdf", a_pdf())
    finally:
        UPLOADS.held_bytes -= 1024 * MIB
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    assert (await api.nordwind.upload("invoice.pdf", a_pdf())).status_code == 200
    assert UPLOADS.held_bytes == 0


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
async def test_a_body_that_is_not_a_form_is_refused(
    api: Api, content_type: str, content: bytes, status: int, kind: str
) -> None:
    headers = {"Content-Type": content_type}
    answer = await api.nordwind.post("/uploads", content=content, headers=headers)

    assert (answer.status_code, answer.json()["error"]["type"]) == (status, kind)


@pytest.mark.parametrize("is_announced", [True, False])
async def test_thirty_megabytes_are_refused_while_they_are_received(
    api: Api, is_announced: bool
) -> None:
    async with a_server(api.app) as origin:
        sent, answer = await send_until_answered(api, origin, is_announced=is_announced)

    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b'"type":"PayloadTooLarge"' in answer
    assert b'"limit":10' in answer
    assert b"connection: close" in answer.lower()
    assert sent < 20 * MIB
    assert await api.count("uploads") == 0


async def send_until_answered(api: Api, origin: str, *, is_announced: bool) -> tuple[int, bytes]:
    """Send a 30 MB file over a socket until there is a response. Return the number of sent bytes
    and the response."""
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
