"""A new second factor ends the user's other sessions and is notified; an admin ends a user's
sessions."""

from typing import Any

import pyotp
import pytest

from dunwell.accounts.installation.apply_installation import apply_installation
from dunwell.accounts.installation.installation_file import check_installation
from dunwell.accounts.merchants.rights import Role
from dunwell.accounts.users.factors.set_up_factor import (
    find_new_app_secret,
    finish_app_setup,
    start_app_setup,
)
from dunwell.accounts.users.factors.totp import SECRET_BYTES
from dunwell.accounts.users.manage_users import sign_out_user
from dunwell.accounts.users.passwords import SignInServices
from dunwell.accounts.users.sign_in.sign_in import SignInExpired, check_totp_code
from dunwell.accounts.users.user import UserRoles
from dunwell.platform.errors import InsufficientScope
from dunwell.platform.resources import Resources
from tests.people.test_sessions import find, require
from tests.support.passkeys import SoftwarePasskey
from tests.support.portal_sign_in import ORIGIN, build_sign_in_pages, read_hidden
from tests.support.users import (
    OPERATOR,
    PASSWORD,
    JoinedUser,
    a_new_user,
    build_submitted_code,
    join,
    randomness,
    sign_in,
    start_sign_in,
)

_LINE: dict[str, Any] = {"channel": "EMAIL", "adapter": "smtp", "server": "mail.example.com:587"}
_KNOWN = """
SELECT session_id FROM portal_sessions WHERE user_id = $1 AND device_hash IS NOT NULL
"""


async def set_up_app(services: SignInServices, erika: JoinedUser, code: str = "") -> bool:
    """Set up an app in the session in which she joined; `code` replaces the right code."""
    person = await require(services, erika.session)
    async with services.work(person.actor) as work:
        await start_app_setup(work, erika.user_id, randomness(SECRET_BYTES))
        secret = await find_new_app_secret(work, erika.user_id) or ""
        return await finish_app_setup(work, person, code or pyotp.TOTP(secret).at(work.now))


async def fetch(services: SignInServices, statement: str, *values: Any) -> list[tuple[Any, ...]]:
    async with services.resources.database.connection() as connection:
        return [tuple(row) for row in await connection.fetch(statement, *values)]


async def test_a_new_app_ends_all_other_sessions(services: SignInServices) -> None:
    erika = await join(services, a_new_user())
    paul = await join(services, a_new_user("paul@example.org", name="Paul"))
    elsewhere, waiting = await sign_in(services, erika), await start_sign_in(services, erika)
    assert await set_up_app(services, erika)
    assert await find(services, elsewhere.secret) is None
    assert await find(services, erika.session.secret) is not None
    assert await find(services, paul.session.secret) is not None
    assert await fetch(services, _KNOWN, erika.user_id) == [(erika.session.session_id,)]
    assert (
        await check_totp_code(services, build_submitted_code(waiting, "123456")) == SignInExpired()
    )


async def test_a_wrong_code_ends_no_session(services: SignInServices) -> None:
    erika = await join(services, a_new_user())
    elsewhere = await sign_in(services, erika)
    assert not await set_up_app(services, erika, "000000")
    assert await find(services, elsewhere.secret) is not None


@pytest.mark.parametrize("language", ["en", "de"])
async def test_a_new_factor_is_notified_by_e_mail_in_the_users_language(
    resources: Resources, services: SignInServices, language: str
) -> None:
    await apply_installation(resources, check_installation({"deliveryProviders": {"post": _LINE}}))
    erika = await join(services, a_new_user(language=language))
    await set_up_app(services, erika)
    [(recipient, subject, email_language)] = await fetch(
        services, "SELECT recipient, subject, language FROM staff_emails"
    )
    words = {"en": "a new authenticator app", "de": "eine neue Authentifizierungs-App"}[language]
    assert (recipient, email_language, words in subject) == ("erika@example.org", language, True)


async def test_a_new_passkey_ends_all_other_sessions_and_is_notified(
    resources: Resources,
) -> None:
    await apply_installation(resources, check_installation({"deliveryProviders": {"post": _LINE}}))
    pages = build_sign_in_pages(resources)
    erika = await join(pages.services, a_new_user())
    here, there = pages.visitor(), pages.visitor()
    await there.sign_in(erika)
    await here.sign_in(erika)
    token = read_hidden((await here.get("/portal/account")).text)["token"]
    options = await here.post("/portal/account/passkey/ask", token=token, password=PASSWORD)
    answer = SoftwarePasskey(ORIGIN, "pay.example.org").create(options.text).decode()
    done = await here.post("/portal/account/passkey", token=token, answer=answer, name="key")
    assert done.headers["Location"].endswith("done=passkey_added")
    assert (await here.get("/portal/account")).status_code == 200
    assert (await there.get("/portal/account")).status_code == 303
    [(subject,)] = await fetch(pages.services, "SELECT subject FROM staff_emails")
    assert subject == "Dunwell: a passkey was added to your account"


async def test_an_admin_signs_a_user_out_everywhere(resources: Resources) -> None:
    pages = build_sign_in_pages(resources)
    erika = await join(pages.services, a_new_user())
    paul = await join(
        pages.services, a_new_user("paul@example.org", name="Paul", roles=UserRoles(Role.AUDITOR))
    )
    admin = pages.visitor()
    await admin.sign_in(erika)
    await sign_in(pages.services, paul)
    path = f"/portal/people/{paul.user_id}"
    assert "2 active sessions" in (await admin.get(path)).text
    done = await admin.send(path, f"{path}/sessions")
    assert done.headers["Location"] == f"{path}?done=signed_out"
    assert "No active session." in (await admin.get(done.headers["Location"])).text
    assert await find(pages.services, paul.session.secret) is None
    assert await fetch(pages.services, _KNOWN, paul.user_id) == []
    assert (await admin.get(path)).status_code == 200
    await sign_in(pages.services, paul)


async def test_only_an_admin_ends_a_users_sessions(services: SignInServices) -> None:
    erika = await join(services, a_new_user())
    paul = await join(
        services, a_new_user("paul@example.org", name="Paul", roles=UserRoles(Role.OPERATOR))
    )
    person = await require(services, paul.session)
    with pytest.raises(InsufficientScope):
        async with services.work(person.actor) as work:
            await sign_out_user(work, erika.user_id)
    assert await find(services, erika.session.secret) is not None
    async with services.work(OPERATOR) as work:
        assert await sign_out_user(work, erika.user_id) == 1
