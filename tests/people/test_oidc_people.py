"""The user, roles and rights that a sign-in by a provider leads to, by issuer, subject and current
groups."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from dunwell.accounts.installation.single_sign_on_settings import GroupRule
from dunwell.accounts.merchants.rights import Right, Role
from dunwell.accounts.users.manage_users import change_roles, deactivate_user, reset_user
from dunwell.accounts.users.passwords import SignInServices
from dunwell.accounts.users.sessions.sessions import OpenedSession, find_session
from dunwell.accounts.users.sign_in.sign_in import (
    SignInExpired,
    WrongSignIn,
    check_password,
    check_totp_code,
)
from dunwell.accounts.users.single_sign_on.identities import (
    RefusalReason,
    SignOnRefused,
    link_identity,
)
from dunwell.accounts.users.single_sign_on.sign_on import SignOnCompleted, SignOnFailure
from dunwell.accounts.users.store import load_user
from dunwell.accounts.users.user import User, UserRoles
from dunwell.operations.jobs.runner import list_rights
from dunwell.platform.errors import InvalidState, ValidationError
from tests.support.merchants import AT_NOON, a_merchant
from tests.support.scripted_identity_provider import a_scripted_identity_provider
from tests.support.single_sign_on import (
    ADMINS,
    SingleSignOnHarness,
    a_provider,
    a_single_sign_on_harness,
    build_return,
)
from tests.support.users import (
    AWAY,
    HOME,
    OPERATOR,
    PASSWORD,
    a_new_user,
    build_submitted_code,
    join,
    randomness,
    start_sign_in,
)


@pytest.fixture
async def harness(services: SignInServices) -> AsyncIterator[SingleSignOnHarness]:
    async with a_single_sign_on_harness(services) as harness:
        yield harness


async def load(harness: SingleSignOnHarness, opened: OpenedSession) -> User:
    async with harness.resources.database.connection() as connection:
        user = await load_user(connection, opened.user_id)
    assert user is not None
    return user


async def is_open(harness: SingleSignOnHarness, opened: OpenedSession) -> bool:
    async with harness.resources.database.connection() as connection:
        return await find_session(connection, opened.secret, now=harness.clock.now()) is not None


def expect_refusal(outcome: object, reason: RefusalReason) -> None:
    assert isinstance(outcome, SignOnRefused), outcome
    assert outcome.reason is reason


async def link(
    harness: SingleSignOnHarness, user: Any, subject: str, provider: str = "kontor"
) -> None:
    async with harness.services.work(OPERATOR) as work:
        await link_identity(work, user, provider, subject)


async def test_the_first_sign_in_creates_a_user_with_the_roles_of_the_groups(
    harness: SingleSignOnHarness,
) -> None:
    opened = await harness.complete_sign_in()
    user = await load(harness, opened)
    assert (user.email, user.name, user.language) == (
        "erika@example.org", "Erika Mustermann", "de",
    )  # fmt: skip
    assert (user.roles, user.provider) == (UserRoles(Role.ADMIN), "kontor")
    assert (user.has_password, user.is_break_glass) == (False, False)
    assert user.joined_at == harness.clock.now()
    acts = await harness.list_audit_entries()
    assert [act[0] for act in acts] == ["user.join_by_provider", "session.begin"]
    assert acts[0][2] == {"provider": "kontor", "global_role": "ADMIN", "memberships": {}}
    assert acts[1][2] == {"by": "PROVIDER", "isNewPlace": False}


async def test_a_returning_user_with_a_new_address_stays_the_same_user(
    harness: SingleSignOnHarness,
) -> None:
    first = await harness.complete_sign_in()
    again = await harness.complete_sign_in(email="erika.neu@example.org", name="Erika Neu")
    assert again.user_id == first.user_id
    user = await load(harness, again)
    assert (user.email, user.name) == ("erika.neu@example.org", "Erika Mustermann")


async def test_an_address_that_another_user_has_is_not_taken_over(
    harness: SingleSignOnHarness,
) -> None:
    paul = await join(harness.services, a_new_user("paul@example.org"))
    await harness.complete_sign_in()
    opened = await harness.complete_sign_in(email="PAUL@example.org")
    assert opened.user_id != paul.user_id
    assert (await load(harness, opened)).email == "erika@example.org"


async def test_a_second_subject_with_the_same_address_is_refused(
    harness: SingleSignOnHarness,
) -> None:
    await harness.complete_sign_in()
    expect_refusal(await harness.sign_in_at_provider(sub="mallory"), RefusalReason.EMAIL_TAKEN)
    assert await harness.count("users") == 1


async def test_the_same_subject_at_two_issuers_is_two_users(harness: SingleSignOnHarness) -> None:
    first = await harness.complete_sign_in()
    async with a_scripted_identity_provider(harness.clock) as other:
        before, harness.scripted = harness.scripted, other
        await harness.change_provider(issuer=other.issuer)
        expect_refusal(await harness.sign_in_at_provider(), RefusalReason.EMAIL_TAKEN)
        second = await harness.complete_sign_in(email="other@example.org")
        harness.scripted = before
    assert first.user_id != second.user_id


async def test_a_local_user_cannot_be_taken_over_by_e_mail_address(
    harness: SingleSignOnHarness,
) -> None:
    """Nor if the provider says that the address is verified."""
    erika = await join(harness.services, a_new_user())
    expect_refusal(
        await harness.sign_in_at_provider(email_verified=True), RefusalReason.EMAIL_TAKEN
    )
    assert await harness.count("users") == 1
    entry = await check_password(harness.services, erika.email, PASSWORD, HOME, randomness())
    assert not isinstance(entry, WrongSignIn)


async def test_linking_an_identity_replaces_password_sessions_and_factors(
    harness: SingleSignOnHarness,
) -> None:
    erika = await join(harness.services, a_new_user())
    entry = await start_sign_in(harness.services, erika)
    await link(harness, erika.user_id, "erika-0001")
    assert not await is_open(harness, erika.session)
    assert (
        await check_totp_code(harness.services, build_submitted_code(entry, "123456"))
        == SignInExpired()
    )
    assert (
        await check_password(harness.services, erika.email, PASSWORD, HOME, randomness())
        == WrongSignIn()
    )
    opened = await harness.complete_sign_in(groups=["dunwell-auditors"])
    assert opened.user_id == erika.user_id
    user = await load(harness, opened)
    assert (user.roles, user.has_password) == (UserRoles(Role.AUDITOR), False)
    assert await harness.count("authentication_factors") == 0


async def test_an_identity_belongs_to_one_user(harness: SingleSignOnHarness) -> None:
    erika = await harness.complete_sign_in()
    paul = await join(harness.services, a_new_user("paul@example.org"))
    with pytest.raises(InvalidState):
        await link(harness, paul.user_id, "erika-0001")
    with pytest.raises(InvalidState):
        await link(harness, erika.user_id, "another")
    with pytest.raises(ValidationError):
        await link(harness, paul.user_id, "paul-0002", "nobody")
    assert await is_open(harness, paul.session)


async def test_groups_replace_the_roles_at_each_sign_in(harness: SingleSignOnHarness) -> None:
    before = await harness.complete_sign_in()
    opened = await harness.complete_sign_in(groups=["dunwell-auditors", "cooks"])
    assert (await load(harness, opened)).roles == UserRoles(Role.AUDITOR)
    async with harness.resources.database.connection() as connection:
        session = await find_session(connection, before.secret, now=harness.clock.now())
    assert session is not None
    assert Right.PEOPLE not in session.rights_everywhere
    [change] = await harness.list_audit_entries("user.change_by_groups")
    assert (change[1]["global_role"], change[2]["global_role"]) == ("ADMIN", "AUDITOR")
    await harness.complete_sign_in(groups=["dunwell-auditors"])
    assert len(await harness.list_audit_entries("user.change_by_groups")) == 1


async def test_merchants_of_a_group_are_found_by_key(harness: SingleSignOnHarness) -> None:
    async with harness.resources.database.transaction() as tx:
        mine = await a_merchant(tx, now=AT_NOON)
        others = await a_merchant(tx, key="others", now=AT_NOON)
    keys = (mine.key, "not-there")
    await harness.change(groups=(GroupRule(group="shop", role="MERCHANT_USER", merchants=keys),))
    opened = await harness.complete_sign_in(groups="shop")
    user = await load(harness, opened)
    assert user.roles == UserRoles(None, {mine.merchant_id: Role.MERCHANT_USER})
    async with harness.resources.database.connection() as connection:
        assert await list_rights(connection, user.user_id, others.merchant_id) == frozenset()


@pytest.mark.parametrize("groups", [None, [], ["Dunwell-Admins"], ["dunwell-admins "], [7], "x"])
async def test_a_user_without_a_configured_group_is_refused(
    harness: SingleSignOnHarness, groups: Any
) -> None:
    expect_refusal(await harness.sign_in_at_provider(groups=groups), RefusalReason.NO_GROUP)
    assert await harness.count("users") == 0


async def test_a_user_who_lost_the_group_loses_sessions_and_roles_at_the_next_sign_in(
    harness: SingleSignOnHarness,
) -> None:
    opened = [await harness.complete_sign_in(), await harness.complete_sign_in(AWAY)]
    outcome = await harness.sign_in_at_provider(groups=[])
    expect_refusal(outcome, RefusalReason.NO_GROUP)
    assert [await is_open(harness, each) for each in opened] == [False, False]
    assert (await load(harness, opened[0])).roles == UserRoles()
    acts = await harness.list_audit_entries("session.%")
    assert acts[-2][::2] == ("session.end_without_group", {"sessionsEnded": 2})
    assert acts[-1][2] == {"provider": "kontor", "reason": "NO_GROUP"}
    assert (await load(harness, await harness.complete_sign_in())).roles == UserRoles(Role.ADMIN)


async def test_a_group_rule_applies_only_to_its_provider(harness: SingleSignOnHarness) -> None:
    provider = harness.adapter.settings
    other = a_provider("https://login.example.com", name="other")
    rule = GroupRule(group="dunwell-admins", role="ADMIN", provider="other")
    await harness.change(oidc=(provider, other), groups=(rule,))
    expect_refusal(await harness.sign_in_at_provider(), RefusalReason.NO_GROUP)
    await harness.change(
        groups=(GroupRule(group="dunwell-admins", role="ADMIN", provider="kontor"),)
    )
    await harness.complete_sign_in()


async def test_the_current_installation_file_decides(harness: SingleSignOnHarness) -> None:
    """The file as it is now, not as the process read it some seconds ago."""
    sent = await harness.start()
    assert sent
    await harness.change(oidc=(), groups=())
    expect_refusal(await harness.sign_in_at_provider(), RefusalReason.NO_GROUP)


async def test_a_deactivated_user_cannot_sign_in_by_the_provider(
    harness: SingleSignOnHarness,
) -> None:
    opened = await harness.complete_sign_in()
    await join(harness.services, a_new_user("boss@example.org"))
    async with harness.services.work(OPERATOR) as work:
        await deactivate_user(work, opened.user_id)
    expect_refusal(await harness.sign_in_at_provider(), RefusalReason.ENDED)
    assert not await is_open(harness, opened)
    new_user = await join(harness.services, a_new_user())
    await link(harness, new_user.user_id, "erika-0001")
    assert (await harness.complete_sign_in()).user_id == new_user.user_id


@pytest.mark.parametrize("email", [None, "", "erika", 7, "a@b\n@c"])
async def test_a_user_without_an_e_mail_address_is_refused(
    harness: SingleSignOnHarness, email: Any
) -> None:
    expect_refusal(await harness.sign_in_at_provider(email=email), RefusalReason.NO_EMAIL)
    assert await harness.count("users") == 0


@pytest.mark.parametrize(
    ("claims", "is_signed_in"),
    [
        ({}, False), ({"acr": "low", "amr": ["mfa", "pwd"]}, False),
        ({"acr": "high", "amr": ["pwd"]}, False), ({"acr": "high"}, False),
        ({"acr": "high", "amr": ["mfa", "pwd"]}, True),
    ],
)  # fmt: skip
async def test_a_sign_in_must_have_the_configured_strength(
    harness: SingleSignOnHarness, claims: dict[str, Any], is_signed_in: bool
) -> None:
    await harness.change_provider(acr_values=("high", "highest"), amr_values=("mfa",))
    assert "acr_values=high+highest" in (await harness.start()).url.replace("%20", "+")
    outcome = await harness.sign_in_at_provider(**claims)
    assert isinstance(outcome, SignOnCompleted) == is_signed_in
    if not is_signed_in:
        expect_refusal(outcome, RefusalReason.WEAK)


async def test_two_concurrent_first_sign_ins_create_one_user(harness: SingleSignOnHarness) -> None:
    harness.scripted.claims = {}
    sent = [await harness.start(), await harness.start()]
    harness.scripted.may_answer.clear()
    coming = [
        asyncio.create_task(harness.finish(build_return(each, harness.scripted.consent(each.url))))
        for each in sent
    ]
    harness.scripted.may_answer.set()
    outcomes = await asyncio.gather(*coming)
    assert all(isinstance(each, SignOnCompleted) for each in outcomes)
    assert await harness.count("users") == 1
    assert await harness.count("portal_sessions") == 2


async def test_roles_from_groups_cannot_be_changed_by_an_admin(
    harness: SingleSignOnHarness,
) -> None:
    opened = await harness.complete_sign_in()
    await join(harness.services, a_new_user("boss@example.org"))
    user = await load(harness, opened)
    async with harness.services.work(OPERATOR) as work:
        with pytest.raises(InvalidState, match="groups"):
            await change_roles(work, user.user_id, UserRoles(Role.OPERATOR), user.revision)
        with pytest.raises(InvalidState, match="single sign-on"):
            await reset_user(work, user.user_id, randomness())
    assert (await load(harness, opened)).roles == UserRoles(Role.ADMIN)
    assert await is_open(harness, opened)


async def test_sessions_of_single_sign_on_last_as_long_as_others(
    harness: SingleSignOnHarness,
) -> None:
    opened = await harness.complete_sign_in()
    for _ in range(16):
        harness.clock.advance(timedelta(minutes=29))
        assert await is_open(harness, opened)
    harness.clock.advance(timedelta(minutes=29))
    assert not await is_open(harness, opened)
    idle = await harness.complete_sign_in()
    harness.clock.advance(timedelta(minutes=30))
    assert not await is_open(harness, idle)


async def test_a_missing_subject_is_not_reported_as_a_missing_group(
    harness: SingleSignOnHarness,
) -> None:
    await harness.change(groups=(ADMINS,))
    assert await harness.sign_in_at_provider(sub=None) is SignOnFailure.REJECTED
