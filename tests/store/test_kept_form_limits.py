"""The values of interrupted forms are kept for a day if the form is not too large."""

from datetime import timedelta
from uuid import UUID

import msgspec
import pytest

from dunwell.accounts.users.sessions.store import (
    FORMS_KEPT_FOR,
    MAX_FORM_BYTES,
    KeptFields,
    delete_expired_forms,
    load_kept_form,
    save_kept_form,
)
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support import users

_ADDRESS = "/portal/m/1/claims/1/note"
_INSTANT = timedelta(microseconds=1)


@pytest.fixture
async def user_id(resources: Resources) -> UUID:
    services = users.build_sign_in_services(resources)
    return (await users.join(services, users.a_new_user("ada@example.org"))).user_id


def a_form(size: int) -> KeptFields:
    """Return a form that takes this many bytes when it is stored."""
    empty = len(msgspec.json.encode({"text": [""]}))
    return {"text": ["a" * (size - empty)]}


async def test_a_form_of_256_kib_is_kept_and_a_larger_one_is_not(
    resources: Resources, user_id: UUID, clock: MovableClock
) -> None:
    assert MAX_FORM_BYTES == 256 * 1024
    largest, now = a_form(MAX_FORM_BYTES), clock.now()
    async with resources.database.transaction() as tx:
        too_large = a_form(MAX_FORM_BYTES + 1)
        assert not await save_kept_form(tx, user_id, _ADDRESS, fields=too_large, now=now)
        assert await load_kept_form(tx, user_id, _ADDRESS, now) is None
        assert await save_kept_form(tx, user_id, _ADDRESS, fields=largest, now=now)
        assert await load_kept_form(tx, user_id, _ADDRESS, now) == largest


async def test_a_kept_form_is_deleted_after_24_hours(
    resources: Resources, user_id: UUID, clock: MovableClock
) -> None:
    assert timedelta(hours=24) == FORMS_KEPT_FOR
    fields, now = a_form(100), clock.now()
    async with resources.database.transaction() as tx:
        await save_kept_form(tx, user_id, _ADDRESS, fields=fields, now=now)
        assert await delete_expired_forms(tx, now + FORMS_KEPT_FOR - _INSTANT, 10) == 0
        assert (
            await load_kept_form(tx, user_id, _ADDRESS, now + FORMS_KEPT_FOR - _INSTANT) == fields
        )
        assert await load_kept_form(tx, user_id, _ADDRESS, now + FORMS_KEPT_FOR) is None
        assert await delete_expired_forms(tx, now + FORMS_KEPT_FOR + _INSTANT, 10) == 1
