"""Changes that admins make to other users; at least one admin always remains."""

import asyncio
from uuid import UUID

import pytest

from dunwell.accounts.merchants.rights import Right, Role
from dunwell.accounts.users.manage_users import change_roles, deactivate_user
from dunwell.accounts.users.passwords import SignInServices
from dunwell.accounts.users.sign_in.sign_in import WrongSignIn, check_password
from dunwell.accounts.users.store import list_users, load_user
from dunwell.accounts.users.user import User, UserRoles, list_effective_rights
from dunwell.platform.database.database import Database
from dunwell.platform.errors import InsufficientScope, InvalidState, NotFound, ValidationError
from tests.people.test_sessions import find, require
from tests.support.users import (
    HOME,
    OPERATOR,
    PASSWORD,
    a_new_user,
    invite,
    join,
    randomness,
)


async def load(services: SignInServices, user_id: UUID) -> User:
    async with services.work(OPERATOR) as work:
        user = await load_user(work.tx, user_id)
    assert user is not None
    return user


async def change(
    services: SignInServices, user_id: UUID, roles: UserRoles, revision: int = 1
) -> None:
    async with services.work(OPERATOR) as work:
        await change_roles(work, user_id, roles, revision)


async def end(services: SignInServices, user_id: UUID) -> None:
    async with services.work(OPERATOR) as work:
        await deactivate_user(work, user_id)


async def test_a_role_change_applies_from_the_next_request(
    services: SignInServices, merchant_id: int
) -> None:
    await join(services, a_new_user())
    paul = await join(services, a_new_user("paul@example.org", name="Paul"))
    roles = UserRoles(None, {merchant_id: Role.MERCHANT_USER})
    await change(services, paul.user_id, roles)
    person = await require(services, paul.session)
    assert (person.global_role, person.memberships) == (None, roles.memberships)
    assert Right.ANSWER in person.rights_at(merchant_id)
    assert person.rights_at(merchant_id + 1) == frozenset()
    assert not person.has_access_to(merchant_id + 1)
    assert person.rights_everywhere == frozenset()


async def test_the_second_of_two_conflicting_changes_is_refused(services: SignInServices) -> None:
    await join(services, a_new_user())
    paul = await join(services, a_new_user("paul@example.org", name="Paul"))
    await change(services, paul.user_id, UserRoles(Role.AUDITOR))
    with pytest.raises(InvalidState) as refusal:
        await change(services, paul.user_id, UserRoles(Role.OPERATOR))
    assert refusal.value.details == {"state": "CHANGED"}
    assert (await load(services, paul.user_id)).roles == UserRoles(Role.AUDITOR)


async def test_a_deactivated_user_is_signed_out_and_can_be_invited_again(
    services: SignInServices,
) -> None:
    await join(services, a_new_user())
    paul = await join(services, a_new_user("paul@example.org", name="Paul"))
    await end(services, paul.user_id)
    assert await find(services, paul.session.secret) is None
    outcome = await check_password(services, paul.email, PASSWORD, HOME, randomness())
    assert outcome == WrongSignIn()
    again = await join(services, a_new_user("paul@example.org", name="Paul"))
    assert again.user_id != paul.user_id
    async with services.work(OPERATOR) as work:
        users = await list_users(work.tx)
    assert [(user.name, user.ended_at is None) for user in users] == [
        ("Erika", True), ("Paul", True), ("Paul", False),
    ]  # fmt: skip


async def test_a_deactivated_user_cannot_be_deactivated_or_changed_again(
    services: SignInServices,
) -> None:
    await join(services, a_new_user())
    paul = await join(services, a_new_user("paul@example.org", name="Paul"))
    await end(services, paul.user_id)
    for act in (
        end(services, paul.user_id),
        change(services, paul.user_id, UserRoles(Role.ADMIN)),
    ):
        with pytest.raises(InvalidState):
            await act
    with pytest.raises(NotFound):
        await end(services, UUID(int=7))


@pytest.mark.parametrize("roles", [None, UserRoles(Role.OPERATOR), UserRoles(Role.AUDITOR)])
async def test_the_last_admin_cannot_be_deactivated_or_demoted(
    services: SignInServices, roles: UserRoles | None
) -> None:
    erika = await join(services, a_new_user())
    await join(services, a_new_user("op@example.org", name="Op", roles=UserRoles(Role.OPERATOR)))
    # An invited user who has not joined yet.
    await invite(services, a_new_user("paul@example.org", name="Paul"))
    user_id = erika.user_id
    act = change(services, user_id, roles) if roles else end(services, user_id)
    with pytest.raises(InvalidState) as refusal:
        await act
    assert refusal.value.details == {"state": "LAST_ADMIN"}
    assert await find(services, erika.session.secret) is not None


async def test_two_admins_who_deactivate_each_other_leave_one_admin(
    services: SignInServices,
) -> None:
    erika = await join(services, a_new_user())
    paul = await join(services, a_new_user("paul@example.org", name="Paul"))
    both_there = asyncio.Barrier(2)

    async def end_with_the_other(user_id: UUID) -> None:
        async with services.work(OPERATOR) as work:
            await both_there.wait()
            await deactivate_user(work, user_id)

    outcomes = await asyncio.gather(
        end_with_the_other(erika.user_id), end_with_the_other(paul.user_id),
        return_exceptions=True,
    )  # fmt: skip
    assert sorted(type(each).__name__ for each in outcomes) == ["InvalidState", "NoneType"]


async def test_an_admin_may_add_roles_to_themselves(
    services: SignInServices, merchant_id: int
) -> None:
    erika = await join(services, a_new_user())
    roles = UserRoles(Role.ADMIN, {merchant_id: Role.MERCHANT_USER})
    await change(services, erika.user_id, roles)
    assert (await load(services, erika.user_id)).roles == roles


async def test_only_users_with_the_right_may_change_users(
    services: SignInServices, database: Database
) -> None:
    erika = await join(services, a_new_user())
    operator = a_new_user("op@example.org", name="Op", roles=UserRoles(Role.OPERATOR))
    person = await require(services, (await join(services, operator)).session)
    async with services.work(person.actor) as work:
        with pytest.raises(InsufficientScope):
            await deactivate_user(work, erika.user_id)
        with pytest.raises(InsufficientScope):
            await change_roles(work, person.user_id, UserRoles(Role.ADMIN), 1)
    assert (await load(services, person.user_id)).roles == UserRoles(Role.OPERATOR)


async def test_roles_at_an_unknown_merchant_are_refused(
    services: SignInServices, merchant_id: int
) -> None:
    await join(services, a_new_user())
    paul = await join(services, a_new_user("paul@example.org", name="Paul"))
    wrong = UserRoles(None, {merchant_id: Role.AUDITOR, merchant_id + 1: Role.AUDITOR})
    with pytest.raises(ValidationError):
        await change(services, paul.user_id, wrong)


def test_effective_rights_are_listed_with_every_role_that_grants_them() -> None:
    roles = UserRoles(Role.AUDITOR, {7: Role.MERCHANT_USER})
    reasons = [(each.right, each.merchant_id, each.role) for each in list_effective_rights(roles)]
    assert reasons == [
        (Right.READ_CLAIMS, None, Role.AUDITOR),
        (Right.READ_CLAIMS, 7, Role.MERCHANT_USER),
        (Right.CHANGE_CLAIMS, 7, Role.MERCHANT_USER),
        (Right.RECORD_MONEY, 7, Role.MERCHANT_USER),
        (Right.ANSWER, 7, Role.MERCHANT_USER),
        (Right.AUDIT, None, Role.AUDITOR),
    ]
