"""Break-glass admins are the only users who sign in without a required single sign-on.

Each use raises an alert, and the sign-in page does not reveal who they are.
"""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from dunwell.accounts.merchants.rights import Role
from dunwell.accounts.users.accept_invitation import (
    InvitationFault,
    InvitationForm,
    accept_with_app,
    find_invitation,
)
from dunwell.accounts.users.manage_users import change_roles, invite_first_admin, set_break_glass
from dunwell.accounts.users.own_account import PasswordConfirmation, change_password
from dunwell.accounts.users.passwords import SignInServices
from dunwell.accounts.users.sessions.sessions import OpenedBy, OpenedSession
from dunwell.accounts.users.sign_in.sign_in import (
    PendingSignIn,
    SignInExpired,
    WrongSignIn,
    check_password,
    check_totp_code,
)
from dunwell.accounts.users.single_sign_on.identities import link_identity
from dunwell.accounts.users.store import load_user
from dunwell.accounts.users.user import UserRoles
from dunwell.operations.seals.seals import seal_installation
from dunwell.platform.errors import InvalidState, ValidationError
from dunwell.platform.metrics import REGISTRY
from tests.people.test_sessions import require
from tests.support.single_sign_on import SingleSignOnHarness, a_single_sign_on_harness
from tests.support.users import (
    HOME,
    OPENER,
    OPERATOR,
    PASSWORD,
    CountingHasher,
    JoinedUser,
    a_new_user,
    build_submitted_code,
    invite,
    join,
    randomness,
    sign_in,
    start_sign_in,
)

GLASS = replace(a_new_user("glass@example.org", name="Glass"), is_break_glass=True)


@pytest.fixture
async def harness(services: SignInServices) -> AsyncIterator[SingleSignOnHarness]:
    async with a_single_sign_on_harness(services) as harness:
        yield harness


def count_security_events() -> float:
    labels = {"type": "BREAK_GLASS_USED"}
    return REGISTRY.get_sample_value("dunwell_security_events_total", labels) or 0.0


async def try_password(harness: SingleSignOnHarness, person: JoinedUser) -> object:
    return await check_password(harness.services, person.email, PASSWORD, HOME, randomness())


async def test_with_required_single_sign_on_a_right_password_is_answered_like_a_wrong_one(
    harness: SingleSignOnHarness, hasher: CountingHasher
) -> None:
    erika = await join(harness.services, a_new_user())
    await harness.change(required=True)
    hasher.verified = 0
    assert await try_password(harness, erika) == WrongSignIn()
    assert hasher.verified == 1
    assert await harness.count("pending_sign_ins") == 0
    await harness.change(required=False)
    assert isinstance(await try_password(harness, erika), PendingSignIn)


async def test_a_pending_sign_in_fails_after_single_sign_on_became_required(
    harness: SingleSignOnHarness,
) -> None:
    erika = await join(harness.services, a_new_user())
    entry = await start_sign_in(harness.services, erika)
    await harness.change(required=True)
    assert (
        await check_totp_code(harness.services, build_submitted_code(entry, "123456"))
        == SignInExpired()
    )


async def test_a_break_glass_sign_in_is_audited_and_raises_an_alert(
    harness: SingleSignOnHarness,
) -> None:
    glass = await join(harness.services, GLASS)
    await harness.change(required=True)
    before = count_security_events()
    opened = await sign_in(harness.services, glass)
    assert count_security_events() == before + 1
    act = (await harness.list_audit_entries("break_glass.use"))[-1]
    assert act == ("break_glass.use", None, {"by": "TOTP"})
    await seal_installation(harness.resources)
    async with harness.resources.database.connection() as connection:
        row = await connection.fetchrow(
            "SELECT origin, seal FROM installation_audit"
            " WHERE action = 'break_glass.use' ORDER BY audit_id DESC LIMIT 1"
        )
        alarms = await connection.fetch("SELECT kind, subject FROM alerts")
    assert row is not None
    assert alarms[-1]["kind"] == "BREAK_GLASS"
    assert {each["subject"] for each in alarms} >= {str(opened.session_id)}
    assert row["origin"]["session"] == str(opened.session_id)
    assert row["seal"] is not None


async def test_a_break_glass_sign_in_raises_an_alert_without_required_single_sign_on(
    harness: SingleSignOnHarness,
) -> None:
    glass = await join(harness.services, GLASS)
    before = count_security_events()
    await sign_in(harness.services, glass)
    assert count_security_events() == before + 1


async def test_a_break_glass_admins_new_password_is_not_another_use(
    harness: SingleSignOnHarness,
) -> None:
    glass = await join(harness.services, GLASS)
    person = await require(harness.services, glass.session)
    before = count_security_events()
    asking = PasswordConfirmation(person, PASSWORD, HOME)
    opened = await change_password(harness.services, asking, "basalt harp 2 river", randomness())
    assert isinstance(opened, OpenedSession)
    assert (opened.by, count_security_events()) == (OpenedBy.PASSWORD, before)


async def test_a_sign_in_by_the_provider_raises_no_break_glass_alert(
    harness: SingleSignOnHarness,
) -> None:
    await harness.change(required=True)
    before = count_security_events()
    await harness.complete_sign_in()
    assert count_security_events() == before
    assert await harness.list_audit_entries("break_glass.%") == []


async def test_earlier_invitations_fail_after_single_sign_on_became_required(
    harness: SingleSignOnHarness,
) -> None:
    link = (await invite(harness.services, a_new_user())).secret
    await harness.change(required=True)
    assert await find_invitation(harness.services, link, OPENER) is None
    joining = InvitationForm(link, OPENER, HOME, randomness(), password=PASSWORD, code="123456")
    assert await accept_with_app(harness.services, joining) is InvitationFault.LINK


async def test_with_required_single_sign_on_only_break_glass_admins_can_be_invited(
    harness: SingleSignOnHarness,
) -> None:
    await harness.change(required=True)
    with pytest.raises(InvalidState, match="required"):
        await invite(harness.services, a_new_user())
    assert await harness.count("users") == 0
    assert (await join(harness.services, GLASS)).session.by is OpenedBy.INVITATION
    async with harness.services.work(OPERATOR) as work:
        assert await invite_first_admin(work, randomness()) is None


async def test_only_a_local_admin_can_be_a_break_glass_admin(harness: SingleSignOnHarness) -> None:
    auditor = replace(GLASS, roles=UserRoles(Role.AUDITOR))
    with pytest.raises(ValidationError):
        await invite(harness.services, auditor)
    known = await join(harness.services, replace(auditor, is_break_glass=False))
    linked = await harness.complete_sign_in()
    for user_id in (known.user_id, linked.user_id):
        with pytest.raises(InvalidState):
            async with harness.services.work(OPERATOR) as work:
                await set_break_glass(work, user_id, is_on=True)
    assert await harness.list_audit_entries("user.break_glass") == []


async def test_a_break_glass_admin_cannot_be_linked_or_given_other_roles(
    harness: SingleSignOnHarness,
) -> None:
    glass = await join(harness.services, GLASS)
    await join(harness.services, a_new_user())
    async with harness.services.work(OPERATOR) as work:
        with pytest.raises(InvalidState):
            await link_identity(work, glass.user_id, "kontor", "erika-0001")
        with pytest.raises(InvalidState):
            await change_roles(work, glass.user_id, UserRoles(Role.AUDITOR), 1)


async def test_break_glass_is_granted_and_revoked(harness: SingleSignOnHarness) -> None:
    erika = await join(harness.services, a_new_user())
    await harness.change(required=True)
    for is_on in (True, False):
        async with harness.services.work(OPERATOR) as work:
            await set_break_glass(work, erika.user_id, is_on=is_on)
        assert isinstance(await try_password(harness, erika), PendingSignIn) == is_on
        async with harness.resources.database.connection() as connection:
            user = await load_user(connection, erika.user_id)
        assert user is not None
        assert user.is_break_glass == is_on
    acts = await harness.list_audit_entries("user.break_glass")
    assert [act[2]["isBreakGlass"] for act in acts] == [True, False]
