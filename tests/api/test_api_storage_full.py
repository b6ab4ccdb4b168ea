"""An upload that exceeds the merchant's storage limit is refused with instructions."""

import asyncio
from urllib.parse import urlsplit

import pytest

from tests.support.api import Api
from tests.support.api_server import a_server
from tests.support.files import a_pdf
from tests.support.full_storage import leave_free

MIB = 1024 * 1024
GIB = 1024 * MIB


def _merchant_id(api: Api) -> int:
    return api.harness.merchant.merchant_id


@pytest.mark.parametrize("key", [None, "key-1"], ids=["without a key", "with a key"])
async def test_an_upload_above_the_storage_limit_is_refused_with_limit_and_use(
    api: Api, key: str | None
) -> None:
    used = await leave_free(api.resources, _merchant_id(api), 10)
    headers = {} if key is None else {"Idempotency-Key": key}

    answer = await api.nordwind.upload("invoice.pdf", a_pdf(), headers=headers)

    error = answer.json()["error"]
    assert (answer.status_code, error["type"]) == (413, "PayloadTooLarge")
    assert error["details"] == {"limit": 10 * GIB, "used": used}
    assert "ask the operator" in error["message"]
    assert await api.count("uploads") == 0
    # The limit of another merchant is not affected.
    assert (await api.hansen.upload("invoice.pdf", a_pdf())).status_code == 200
    # The refusal is not stored: the same request succeeds when there is room.
    await leave_free(api.resources, _merchant_id(api), MIB)
    again = await api.nordwind.upload("invoice.pdf", a_pdf(), headers=headers)
    assert again.status_code == 200


async def test_a_repeated_upload_gets_its_ticket_when_the_storage_is_full(api: Api) -> None:
    headers = {"Idempotency-Key": "key-1"}
    # A PDF contains the second in which it was made, so two calls may differ.
    content = a_pdf()
    first = await api.nordwind.upload("invoice.pdf", content, headers=headers)
    await leave_free(api.resources, _merchant_id(api), 0)

    again = await api.nordwind.upload("invoice.pdf", content, headers=headers)

    assert (again.status_code, again.content) == (200, first.content)


async def test_a_file_that_does_not_fit_is_refused_before_it_is_received(api: Api) -> None:
    await leave_free(api.resources, _merchant_id(api), 4 * MIB)
    async with a_server(api.app) as origin:
        host = urlsplit(origin)
        reader, writer = await asyncio.open_connection(host.hostname, host.port)
        head = (
            f"POST /api/merchants/{_merchant_id(api)}/uploads HTTP/1.1\r\nHost: {host.netloc}\r\n"
            f"Authorization: Bearer {api.nordwind.token}\r\n"
            f"Content-Type: multipart/form-data; boundary=x\r\nContent-Length: {5 * MIB}\r\n\r\n"
        )
        writer.write(head.encode())

        answer = await asyncio.wait_for(reader.readuntil(b"}}"), 10)

        writer.close()
    assert answer.startswith(b"HTTP/1.1 413 "), answer
