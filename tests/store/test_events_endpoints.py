"""Webhook endpoints are added, changed, rotated and removed, and their secrets are stored
encrypted."""

import base64
from datetime import timedelta
from uuid import uuid4

import pytest

from dunwell.core.events.webhooks.endpoint import NewEndpoint
from dunwell.core.events.webhooks.endpoint_secrets import open_authorization, open_secret
from dunwell.core.events.webhooks.endpoints import (
    add_endpoint,
    change_endpoint,
    remove_endpoint,
    rotate_secret,
)
from dunwell.core.events.webhooks.store import load_endpoints
from dunwell.platform.crypto import DecryptionFailed
from dunwell.platform.errors import InvalidState, NotFound, ValidationError
from dunwell.platform.resources import Resources
from tests.support.webhooks import Outbox, an_outbox

URL = "http://127.0.0.1:1/hooks"


async def audit_of(outbox: Outbox) -> list[str]:
    rows = await outbox.rows("SELECT action FROM audit_log WHERE merchant_id = $1 ORDER BY action")
    return [row["action"] for row in rows]


async def test_the_secret_is_shown_once_and_stored_encrypted(resources: Resources) -> None:
    outbox = await an_outbox(resources)
    new = await outbox.add_endpoint(URL, ("ARCHIVED", "ESCALATED"), "Bearer abc")
    assert len(base64.b64decode(new.secret.removeprefix("whsec_"), validate=True)) == 32
    row = await outbox.endpoint(new.endpoint_id)
    assert new.secret.encode() not in row["secret_sealed"]
    assert b"abc" not in row["authorization_sealed"]
    assert row["types"] == ["ESCALATED", "ARCHIVED"]
    owner = (outbox.merchant.merchant_id, new.endpoint_id)
    assert open_secret(resources.keys, *owner, row["secret_sealed"]) == new.secret
    sealed = row["authorization_sealed"]
    assert open_authorization(resources.keys, *owner, sealed) == "Bearer abc"
    assert await audit_of(outbox) == ["endpoint.add"]


async def test_an_encrypted_secret_is_readable_for_its_own_endpoint_only(
    resources: Resources,
) -> None:
    outbox = await an_outbox(resources)
    new = await outbox.add_endpoint(URL)
    sealed = (await outbox.endpoint(new.endpoint_id))["secret_sealed"]
    merchant_id = outbox.merchant.merchant_id
    for owner in [(merchant_id + 1, new.endpoint_id), (merchant_id, uuid4())]:
        with pytest.raises(DecryptionFailed):
            open_secret(resources.keys, *owner, sealed)


async def test_an_address_can_be_added_only_once(resources: Resources) -> None:
    outbox = await an_outbox(resources)
    await outbox.add_endpoint(URL)
    with pytest.raises(InvalidState):
        await outbox.add_endpoint(URL, ("ESCALATED",))
    assert len(await outbox.rows("SELECT FROM webhook_endpoints WHERE merchant_id = $1")) == 1
    assert await audit_of(outbox) == ["endpoint.add"]


async def test_production_requires_https(resources: Resources) -> None:
    outbox = await an_outbox(resources)
    async with resources.database.transaction() as tx:
        with pytest.raises(ValidationError):
            await add_endpoint(
                outbox.work(tx), resources.keys, NewEndpoint(URL, ("*",)), is_development=False
            )
    assert await outbox.rows("SELECT FROM webhook_endpoints WHERE merchant_id = $1") == []


async def test_types_and_authorization_can_be_changed(resources: Resources) -> None:
    outbox = await an_outbox(resources)
    new = await outbox.add_endpoint(URL, ("*",), "Bearer abc")
    async with resources.database.transaction() as tx:
        await change_endpoint(outbox.work(tx), resources.keys, new.endpoint_id, ("ARCHIVED",), None)
    async with resources.database.connection() as connection:
        [endpoint] = await load_endpoints(connection, outbox.merchant.merchant_id)
    assert endpoint.types == ("ARCHIVED",)
    assert endpoint.authorization_sealed is None
    assert await audit_of(outbox) == ["endpoint.add", "endpoint.change"]


async def test_the_old_secret_is_valid_for_a_day_after_a_rotation(resources: Resources) -> None:
    outbox = await an_outbox(resources)
    new = await outbox.add_endpoint(URL)
    async with resources.database.transaction() as tx:
        rotated = await rotate_secret(outbox.work(tx), resources.keys, new.endpoint_id)
    row = await outbox.endpoint(new.endpoint_id)
    owner = (outbox.merchant.merchant_id, new.endpoint_id)
    assert rotated.secret != new.secret
    assert open_secret(resources.keys, *owner, row["secret_sealed"]) == rotated.secret
    assert open_secret(resources.keys, *owner, row["previous_secret_sealed"]) == new.secret
    assert row["previous_secret_until"] == outbox.now + timedelta(hours=24)


async def test_removing_an_endpoint_abandons_its_deliveries_and_frees_its_address(
    resources: Resources,
) -> None:
    outbox = await an_outbox(resources)
    new = await outbox.add_endpoint(URL)
    [event] = await outbox.raise_events()
    async with resources.database.transaction() as tx:
        await remove_endpoint(outbox.work(tx), new.endpoint_id)
    await outbox.raise_events()
    assert await outbox.deliveries() == [(event.event_id, "GIVEN_UP", 0)]
    assert (await outbox.add_endpoint(URL)).endpoint_id != new.endpoint_id


async def test_another_merchants_endpoint_is_not_found(resources: Resources) -> None:
    nordwind, hansen = await an_outbox(resources), await an_outbox(resources, "hansen")
    new = await nordwind.add_endpoint(URL)
    async with resources.database.transaction() as tx:
        work = hansen.work(tx)
        with pytest.raises(NotFound):
            await remove_endpoint(work, new.endpoint_id)
        with pytest.raises(NotFound):
            await rotate_secret(work, resources.keys, new.endpoint_id)
        with pytest.raises(NotFound):
            await change_endpoint(work, resources.keys, new.endpoint_id, ("*",), None)
    assert (await nordwind.endpoint(new.endpoint_id))["removed_at"] is None
    assert await audit_of(hansen) == []
