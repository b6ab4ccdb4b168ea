"""Incoming SMS through a real Kannel. The only reply is one confirmation of STOP."""

import asyncio

import httpx
import pytest

from dunwell.accounts.installation.apply_installation import apply_installation
from dunwell.accounts.installation.installation_file import Installation
from tests.servers.sms_world import NAME, NUMBER, SECRETS, SmsProcess, a_provider, wait_until

_KINDS = "SELECT kind, text FROM inbound_sms WHERE $1 > 0 ORDER BY received_at, inbound_id"


async def kinds(process: SmsProcess) -> list[tuple[str, str]]:
    return [tuple(row) for row in await process.harness.rows(_KINDS)]


async def test_stop_suppresses_the_number_and_is_confirmed_once(an_sms_process: SmsProcess) -> None:
    process = an_sms_process
    provider = a_provider(process.kannel.address, stop_confirmation="Sie erhalten keine SMS mehr.")
    await apply_installation(
        process.served.resources, Installation(delivery_providers={NAME: provider}), SECRETS
    )
    await process.served.installation.refresh()
    await process.send()
    centre = process.kannel.centre

    async def has(count: int) -> None:
        async def has_them() -> bool:
            return len(await kinds(process)) >= count

        await wait_until(has_them)

    for number, text in enumerate(("Grüße, ich zahle 漢字", "STOPP", "STOP"), start=1):
        await centre.send_incoming(NUMBER, "+4930123", text)
        await has(number)
    await process.kannel.wait_until_empty()
    await asyncio.sleep(0.5)
    assert await kinds(process) == [
        ("REPLY", "Grüße, ich zahle 漢字"), ("STOP", "STOPP"), ("STOP", "STOP"),
    ]  # fmt: skip
    assert await process.suppressed() == [("SMS", "DEBTOR")]
    written = [each.text for each in centre.accepted[1:]]
    assert written == ["Sie erhalten keine SMS mehr."]


@pytest.mark.parametrize("secret", ["", "another", "é"])
async def test_an_incoming_sms_without_the_secret_is_rejected(
    an_sms_process: SmsProcess, secret: str
) -> None:
    process = an_sms_process
    await process.send()
    values = {"from": NUMBER, "to": "1", "text": "STOP", "id": "1", "secret": secret}
    url = f"{process.served.origin}/callbacks/channels/{NAME}/incoming"
    async with httpx.AsyncClient() as http:
        assert (await http.get(url, params=values)).status_code == 400
    assert await kinds(process) == []
    assert await process.suppressed() == []


async def test_control_characters_are_removed_from_the_sender(an_sms_process: SmsProcess) -> None:
    process = an_sms_process
    secret = SECRETS[f"deliveryProviders/{NAME}/incomingSecretFile"].decode()
    values = {"from": "Bank\0", "to": "1", "text": "Hello", "id": "1", "secret": secret}
    url = f"{process.served.origin}/callbacks/channels/{NAME}/incoming"
    async with httpx.AsyncClient() as http:
        assert (await http.get(url, params=values)).status_code == 200
    assert await kinds(process) == [("UNMATCHED", "Hello")]
