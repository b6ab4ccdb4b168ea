"""Fixtures of the tests about users."""

import pytest

from dunwell.accounts.users.passwords import SignInServices
from dunwell.platform.database.database import Database
from dunwell.platform.resources import Resources
from tests.support.merchants import AT_NOON, a_merchant
from tests.support.users import CountingHasher, build_sign_in_services


@pytest.fixture
def hasher() -> CountingHasher:
    return CountingHasher()


@pytest.fixture
def services(resources: Resources, hasher: CountingHasher) -> SignInServices:
    return build_sign_in_services(resources, hasher)


@pytest.fixture
async def merchant_id(database: Database) -> int:
    async with database.transaction() as tx:
        return (await a_merchant(tx, now=AT_NOON)).merchant_id
