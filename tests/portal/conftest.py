"""A merchant with one claim, and users who are signed in to its portal."""

import pytest

from dunwell.accounts.merchants.rights import Role
from dunwell.accounts.users.user import UserRoles
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.application import an_application
from tests.support.definitions import a_definition
from tests.support.house import House, a_house
from tests.support.portal import Clerk, sign_in


@pytest.fixture
async def house(resources: Resources, clock: MovableClock) -> House:
    house = await a_house(resources, clock)
    await house.publish(a_definition())
    return house


@pytest.fixture
async def claim_id(house: House) -> int:
    [claim_id] = await house.create("INV-1001")
    await house.run()
    return claim_id


@pytest.fixture
async def clerk(resources: Resources, house: House) -> Clerk:
    """An operator of all merchants."""
    return await sign_in(resources, an_application(resources).app, house)


@pytest.fixture
async def staff(resources: Resources, house: House) -> Clerk:
    """An operator of this merchant only."""
    place = UserRoles(memberships={house.merchant.merchant_id: Role.MERCHANT_USER})
    return await sign_in(resources, an_application(resources).app, house, place)
