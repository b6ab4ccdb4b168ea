"""A request is refused and changes nothing if its access is revoked while its body is received."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

import pytest

from dunwell.accounts.merchants.actor import COMMAND_LINE
from dunwell.accounts.merchants.credentials.credentials import allow_credential, revoke_credential
from dunwell.accounts.merchants.credentials.tokens import revoke_token
from dunwell.accounts.merchants.rights import Scope
from dunwell.interfaces.api import serving
from tests.support.api import Api
from tests.support.claims import a_claim
from tests.support.files import a_pdf

_BOUNDARY = "a-boundary"
_JSON = "application/json"


@pytest.fixture(autouse=True)
def _check_access_again_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a check of access be valid for a hundredth of a second instead of a whole one."""
    monkeypatch.setattr(serving, "_ADMISSION_VALID_SECONDS", 0.01)


async def _revoke_token(api: Api) -> None:
    async with api.harness.work(COMMAND_LINE) as work:
        await revoke_token(work, api.nordwind.token)


async def _revoke_credential(api: Api) -> None:
    async with api.harness.work(COMMAND_LINE) as work:
        await revoke_credential(work, api.nordwind.credential.client_id)


async def _revoke_right(api: Api) -> None:
    async with api.harness.work(COMMAND_LINE) as work:
        await allow_credential(work, api.nordwind.credential.client_id, [Scope.READ])


async def _do_nothing(_api: Api) -> None:
    """The access is kept."""


async def _send(
    api: Api, path: str, media_type: str, body: bytes,
    change_access: Callable[[Api], Awaitable[None]], key: str | None,
) -> int:  # fmt: skip
    """Return the status of a request whose access changes before the second half of its body is
    sent."""

    async def give_slowly() -> AsyncIterator[bytes]:
        yield body[: len(body) // 2]
        # The check of access is repeated only if the first one is no longer valid.
        await asyncio.sleep(0.02)
        await change_access(api)
        yield body[len(body) // 2 :]

    headers = {"Content-Type": media_type}
    answer = await api.nordwind.post(path, content=give_slowly(), headers=headers, key=key)
    return answer.status_code


async def _send_both(
    api: Api, path: str, media_type: str, bodies: Sequence[bytes],
    change_access: Callable[[Api], Awaitable[None]],
) -> list[int]:  # fmt: skip
    """Send one request with an idempotency key and one without, at the same time. The access
    changes once, when the first of them has waited."""
    changes: list[asyncio.Future[None]] = []

    async def change_once(api: Api) -> None:
        if not changes:
            changes.append(asyncio.ensure_future(change_access(api)))
        await changes[0]

    sent = (
        _send(api, path, media_type, body, change_once, key)
        for body, key in zip(bodies, (None, "once"), strict=True)
    )
    return list(await asyncio.gather(*sent))


def _write_form() -> bytes:
    parts = [
        f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="friendlyName"\r\n\r\n'.encode(),
        b"A\r\n",
        f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="fileName"; filename="a.pdf"\r\n'
        "Content-Type: application/pdf\r\n\r\n".encode(),
        a_pdf(),
        f"\r\n--{_BOUNDARY}--\r\n".encode(),
    ]
    return b"".join(parts)


@pytest.mark.parametrize(
    ("change_access", "status"),
    [
        (_revoke_token, 401), (_revoke_credential, 401), (_revoke_right, 403), (_do_nothing, 200),
    ],
)  # fmt: skip
async def test_claims_are_created_only_with_access_that_is_still_valid(
    api: Api, change_access: Callable[[Api], Awaitable[None]], status: int
) -> None:
    bodies = [json.dumps([a_claim(each)]).encode() for each in ("LATE-1", "LATE-2")]
    assert await _send_both(api, "/claims", _JSON, bodies, change_access) == [status, status]
    assert await api.count("claims") == (2 if status == 200 else 0)


@pytest.mark.parametrize(("change_access", "status"), [(_revoke_token, 401), (_do_nothing, 200)])
async def test_files_are_accepted_only_with_access_that_is_still_valid(
    api: Api, change_access: Callable[[Api], Awaitable[None]], status: int
) -> None:
    media_type = f"multipart/form-data; boundary={_BOUNDARY}"
    bodies = [_write_form()] * 2
    assert await _send_both(api, "/uploads", media_type, bodies, change_access) == [status, status]
    assert await api.count("uploads") == (2 if status == 200 else 0)


async def test_a_stored_response_is_not_sent_after_access_was_revoked(api: Api) -> None:
    body = json.dumps([a_claim("LATE-1")]).encode()
    assert await _send(api, "/claims", _JSON, body, _do_nothing, "once") == 200
    assert await _send(api, "/claims", _JSON, body, _revoke_token, "once") == 401
