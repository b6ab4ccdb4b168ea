"""A merchant with one claim, and users who are signed in to its portal."""

import pytest

from dunwell.accounts.merchants.rights import Role
from dunwell.accounts.users.user import UserRoles
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.application import an_application
from tests.support.definitions import a_definition
from tests.support.harness import Harness, a_harness
from tests.support.portal import Clerk, sign_in


@pytest.fixture
async def harness(resources: Resources, clock: MovableClock) -> Harness:
    harness = await a_harness(resources, clock)
    await harness.publish(a_definition())
    return harness


@pytest.fixture
async def claim_id(harness: Harness) -> int:
    [claim_id] = await harness.create("INV-1001")
    await harness.run()
    return claim_id


@pytest.fixture
async def clerk(resources: Resources, harness: Harness) -> Clerk:
    """An operator of all merchants."""
    return await sign_in(resources, an_application(resources).app, harness)


@pytest.fixture
async def staff(resources: Resources, harness: Harness) -> Clerk:
    """An operator of this merchant only."""
    place = UserRoles(memberships={harness.merchant.merchant_id: Role.MERCHANT_USER})
    return await sign_in(resources, an_application(resources).app, harness, place)
