"""One's own second factors: another authenticator app, more passkeys, one less."""

import json
import secrets

from markupsafe import Markup
from starlette.responses import Response

from dunwell.accounts.users.factors.passkeys import CHALLENGE_BYTES
from dunwell.accounts.users.factors.set_up_factor import (
    add_passkey,
    confirm_app,
    find_started_app,
    start_app,
    start_passkey,
)
from dunwell.accounts.users.factors.totp import SECRET_BYTES
from dunwell.accounts.users.own_account import (
    TooLongAgo,
    check_own_password,
    read_account,
    remove_own_factor,
)
from dunwell.accounts.users.user import SignedIn
from dunwell.interfaces.portal.users.door import ShownApp, receive, show_app
from dunwell.interfaces.portal.users.routes_account import ask, read_id, tell_password
from dunwell.interfaces.portal.users.views import AppPage, Faults
from dunwell.interfaces.portal.web.guards import RoutedPages, signed_in, takes_form
from dunwell.interfaces.portal.web.portal_request import PortalRequest
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.web.form_fields import FormFields

_NO_APP = ShownApp("", Markup(), "")


@signed_in
async def show_new_app(site: PortalSite, visit: PortalRequest, person: SignedIn) -> Response:
    return await _show(site, visit, person, {})


@takes_form
async def take_app(
    site: PortalSite, visit: PortalRequest, person: SignedIn, fields: FormFields
) -> Response:
    """First the password, which starts one; then its first code, which confirms it."""
    if "code" in fields:
        async with receive(site).work(person.actor) as work:
            is_right = await confirm_app(work, person, fields["code"][:100])
        if not is_right:
            return await _show(site, visit, person, {"code": "CODE"})
        return site.redirect(visit, None, "account", done="app_added")
    refusal = await check_own_password(receive(site), ask(site, visit, person, fields))
    if refusal is not None:
        return await _show(site, visit, person, *tell_password(refusal))
    async with receive(site).work(person.actor) as work:
        await start_app(work, person.user_id, secrets.token_bytes(SECRET_BYTES))
    return site.redirect(visit, None, "account_app")


@takes_form
async def ask_browser(
    site: PortalSite, visit: PortalRequest, person: SignedIn, fields: FormFields
) -> Response:
    """What the page's script asks a passkey to be made for; a refusal is 403 for it."""
    reception = receive(site)
    refusal = await check_own_password(reception, ask(site, visit, person, fields))
    if refusal is not None:
        body = json.dumps({"fault": tell_password(refusal)[0]["password"]})
        return Response(body, 403, media_type="application/json")
    async with reception.work(person.actor) as work:
        challenge = secrets.token_bytes(CHALLENGE_BYTES)
        options = await start_passkey(reception, work, person, challenge)
    return Response(options, media_type="application/json")


@takes_form
async def take_passkey(
    site: PortalSite, visit: PortalRequest, person: SignedIn, fields: FormFields
) -> Response:
    reception, answer = receive(site), fields["answer"].encode()
    async with reception.work(person.actor) as work:
        is_added = await add_passkey(
            reception, work, person=person, body=answer, name=fields.text("name")
        )
    done = "passkey_added" if is_added else "passkey_refused"
    return site.redirect(visit, None, "account", done=done)


@takes_form
async def remove(
    site: PortalSite, visit: PortalRequest, person: SignedIn, fields: FormFields
) -> Response:
    """Raises NotFound, InvalidState."""
    factor_id = read_id(fields["factor"])
    refusal = await check_own_password(receive(site), ask(site, visit, person, fields))
    if refusal is not None:
        done = "too_long_ago" if isinstance(refusal, TooLongAgo) else "password_wrong"
        return site.redirect(visit, None, "account", done=done)
    async with receive(site).work(person.actor) as work:
        await remove_own_factor(work, person, factor_id)
    return site.redirect(visit, None, "account", done="factor_removed")


async def _show(
    site: PortalSite, visit: PortalRequest, person: SignedIn, faults: Faults, minutes: int = 0
) -> Response:
    async with receive(site).work(person.actor) as work:
        secret = await find_started_app(work, person.user_id)
        account = await read_account(work, person)
    app = _NO_APP if secret is None else show_app(secret, person.email)
    page = AppPage(
        has_password=account.user.has_password,
        secret=app.secret,
        code_image=app.code_image,
        address=app.address,
        faults=faults,
        minutes=minutes,
    )
    return site.answer(site.frame(visit), page, 400 if faults else 200)


PAGES: RoutedPages = {
    "account_app": {"GET": show_new_app, "POST": take_app},
    "account_passkey_ask": {"POST": ask_browser},
    "account_passkey": {"POST": take_passkey},
    "account_factor": {"POST": remove},
}
