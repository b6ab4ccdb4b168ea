"""Incoming SMS through a real Kannel. The only reply is one confirmation of STOP."""

import asyncio

import httpx
import pytest

from dunwell.accounts.installation.apply_installation import apply_installation
from dunwell.accounts.installation.installation_file import Installation
from tests.servers.sms_world import NAME, NUMBER, SECRETS, SmsHarness, a_provider, wait_until

_KINDS = "SELECT kind, text FROM inbound_sms WHERE $1 > 0 ORDER BY received_at, inbound_id"


async def kinds(sms: SmsHarness) -> list[tuple[str, str]]:
    return [tuple(row) for row in await sms.harness.rows(_KINDS)]


async def test_stop_suppresses_the_number_and_is_confirmed_once(sms_harness: SmsHarness) -> None:
    sms = sms_harness
    provider = a_provider(sms.kannel.address, stop_confirmation="Sie erhalten keine SMS mehr.")
    await apply_installation(
        sms.served.resources, Installation(delivery_providers={NAME: provider}), SECRETS
    )
    await sms.served.installation.refresh()
    await sms.send()
    centre = sms.kannel.centre

    async def has(count: int) -> None:
        async def has_them() -> bool:
            return len(await kinds(sms)) >= count

        await wait_until(has_them)

    for number, text in enumerate(("Grüße, ich zahle 漢字", "STOPP", "STOP"), start=1):
        await centre.send_incoming(NUMBER, "+4930123", text)
        await has(number)
    await sms.kannel.wait_until_empty()
    await asyncio.sleep(0.5)
    assert await kinds(sms) == [
        ("REPLY", "Grüße, ich zahle 漢字"), ("STOP", "STOPP"), ("STOP", "STOP"),
    ]  # fmt: skip
    assert await sms.suppressed() == [("SMS", "DEBTOR")]
    written = [each.text for each in centre.accepted[1:]]
    assert written == ["Sie erhalten keine SMS mehr."]


@pytest.mark.parametrize("secret", ["", "another", "é"])
async def test_an_incoming_sms_without_the_secret_is_rejected(
    sms_harness: SmsHarness, secret: str
) -> None:
    sms = sms_harness
    await sms.send()
    values = {"from": NUMBER, "to": "1", "text": "STOP", "id": "1", "secret": secret}
    url = f"{sms.served.origin}/callbacks/channels/{NAME}/incoming"
    async with httpx.AsyncClient() as http:
        assert (await http.get(url, params=values)).status_code == 400
    assert await kinds(sms) == []
    assert await sms.suppressed() == []


async def test_control_characters_are_removed_from_the_sender(sms_harness: SmsHarness) -> None:
    sms = sms_harness
    secret = SECRETS[f"deliveryProviders/{NAME}/incomingSecretFile"].decode()
    values = {"from": "Bank\0", "to": "1", "text": "Hello", "id": "1", "secret": secret}
    url = f"{sms.served.origin}/callbacks/channels/{NAME}/incoming"
    async with httpx.AsyncClient() as http:
        assert (await http.get(url, params=values)).status_code == 200
    assert await kinds(sms) == [("UNMATCHED", "Hello")]
