"""A user's own account: permissions, sessions, password, recovery codes and second factors."""

import json
import secrets
from uuid import UUID

from markupsafe import Markup
from starlette.responses import Response

from dunwell.accounts.users.factors.passkeys import CHALLENGE_BYTES
from dunwell.accounts.users.factors.recovery_codes import (
    create_recovery_codes,
    hide_shown_codes,
    list_shown_codes,
)
from dunwell.accounts.users.factors.set_up_factor import (
    add_passkey,
    find_new_app_secret,
    finish_app_setup,
    start_app_setup,
    start_passkey_setup,
)
from dunwell.accounts.users.factors.totp import SECRET_BYTES
from dunwell.accounts.users.own_account import (
    PasswordConfirmation,
    SignInTooOld,
    change_password,
    change_profile,
    confirm_own_password,
    end_own_session,
    find_new_password_fault,
    load_account,
    remove_own_factor,
)
from dunwell.accounts.users.sessions.sessions import OpenedSession
from dunwell.accounts.users.sign_in.sign_in import TooManyAttempts, WrongSignIn
from dunwell.accounts.users.store import list_named_merchants
from dunwell.accounts.users.user import SignedInUser
from dunwell.accounts.users.user_work import UserWork
from dunwell.interfaces.portal.render.addresses import build_address
from dunwell.interfaces.portal.users.sign_in_cookies import (
    AppSetup,
    build_app_setup,
    build_visitor,
    count_minutes,
    generate_randomness,
    get_session_secret,
    get_sign_in_services,
    has_passkeys,
    start_browser_session,
)
from dunwell.interfaces.portal.users.views import (
    AppPage,
    CodesPage,
    Faults,
    PasswordPage,
    UserAccountPage,
)
from dunwell.interfaces.portal.web.access import PortalRequest
from dunwell.interfaces.portal.web.guards import RoutedPages, signed_in, takes_form
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.web.forms import FormFields
from dunwell.platform.errors import NotFound, ValidationError


@signed_in
async def get_account_page(
    site: PortalSite, request: PortalRequest, person: SignedInUser
) -> Response:
    return await _render_account_page(site, request, person, {})


@takes_form
async def submit_profile(
    site: PortalSite, request: PortalRequest, person: SignedInUser, fields: FormFields
) -> Response:
    try:
        async with get_sign_in_services(site).work(person.actor) as work:
            await change_profile(work, person, fields.text("name"), fields["language"])
    except ValidationError as refusal:
        faults = {fault.path.lstrip("/"): fault.code for fault in refusal.faults}
        return await _render_account_page(site, request, person=person, faults=faults, status=400)
    return site.redirect(request, None, "account", done="saved")


@takes_form
async def submit_session_end(
    site: PortalSite, request: PortalRequest, person: SignedInUser, fields: FormFields
) -> Response:
    session_id = parse_uuid(fields["session"])
    async with get_sign_in_services(site).work(person.actor) as work:
        await end_own_session(work, person, session_id)
    return site.redirect(request, None, "account", done="session_ended")


@signed_in
async def get_password_page(
    site: PortalSite, request: PortalRequest, person: SignedInUser
) -> Response:
    return await _render_password_page(site, request, person, {})


@takes_form
async def submit_password(
    site: PortalSite, request: PortalRequest, person: SignedInUser, fields: FormFields
) -> Response:
    new, confirmation = (
        fields["password_new"],
        build_password_confirmation(site, request, person, fields),
    )
    faults: Faults = {}
    if new != fields["password_again"]:
        faults = {"password_again": "DIFFERENT"}
    if fault := await find_new_password_fault(get_sign_in_services(site), person, new):
        faults = {**faults, "password_new": fault}
    if faults:
        refusal, minutes = await confirm_own_password(get_sign_in_services(site), confirmation), 0
        if refusal is not None:
            password_faults, minutes = describe_password_fault(refusal)
            faults = {**faults, **password_faults}
        return await _render_password_page(
            site, request, person=person, faults=faults, minutes=minutes
        )
    outcome = await change_password(
        get_sign_in_services(site), confirmation, new, generate_randomness()
    )
    if isinstance(outcome, OpenedSession):
        return start_browser_session(
            site, outcome, build_address("account", done="password_changed")
        )
    if isinstance(outcome, WrongSignIn | TooManyAttempts | SignInTooOld):
        faults, minutes = describe_password_fault(outcome)
        return await _render_password_page(
            site, request, person=person, faults=faults, minutes=minutes
        )
    return await _render_password_page(site, request, person, {"password_new": outcome})


@signed_in
async def get_codes_page(
    site: PortalSite, request: PortalRequest, person: SignedInUser
) -> Response:
    return await _render_codes_page(site, request, person, {})


@takes_form
async def submit_new_codes(
    site: PortalSite, request: PortalRequest, person: SignedInUser, fields: FormFields
) -> Response:
    refusal = await confirm_own_password(
        get_sign_in_services(site), build_password_confirmation(site, request, person, fields)
    )
    if refusal is not None:
        faults, minutes = describe_password_fault(refusal)
        return await _render_codes_page(
            site, request, person=person, faults=faults, minutes=minutes
        )
    async with get_sign_in_services(site).work(person.actor) as work:
        await create_recovery_codes(work, person.user_id, get_session_secret(site, request))
    return site.redirect(request, None, "account_codes")


@takes_form
async def submit_codes_seen(
    site: PortalSite, request: PortalRequest, person: SignedInUser, _fields: FormFields
) -> Response:
    async with get_sign_in_services(site).work(person.actor) as work:
        await hide_shown_codes(work, get_session_secret(site, request))
    return site.redirect(request, None, "portal")


def build_password_confirmation(
    site: PortalSite, request: PortalRequest, person: SignedInUser, fields: FormFields
) -> PasswordConfirmation:
    return PasswordConfirmation(person, fields["password"], build_visitor(site, request))


def describe_password_fault(
    refusal: WrongSignIn | TooManyAttempts | SignInTooOld,
) -> tuple[Faults, int]:
    """Return the fault of a password confirmation, and in how many minutes the user may try
    again."""
    if isinstance(refusal, TooManyAttempts):
        return {"password": "TOO_OFTEN"}, count_minutes(refusal.retry_after)
    return {"password": "TOO_LONG_AGO" if isinstance(refusal, SignInTooOld) else "WRONG"}, 0


def parse_uuid(given: str) -> UUID:
    """Return the id. Raises NotFound if `given` is not a UUID."""
    try:
        return UUID(given)
    except ValueError:
        raise NotFound("There is no such entry.") from None


async def _render_account_page(
    site: PortalSite,
    request: PortalRequest,
    person: SignedInUser,
    faults: Faults,
    status: int = 200,
) -> Response:
    async with get_sign_in_services(site).work(person.actor) as work:
        account = await load_account(work, person)
        merchants = {
            each.merchant_id: each.name
            for each in await list_named_merchants(work.tx)
            if person.has_access_to(each.merchant_id)
        }
    page = UserAccountPage(
        account=account,
        merchants=merchants,
        has_passkeys=has_passkeys(site),
        is_new_network=request.get_parameter("done") == "new_place",
        faults=faults,
    )
    return site.render_page(site.build_context(request), page, status)


async def _has_password(work: UserWork, person: SignedInUser) -> bool:
    return (await load_account(work, person)).user.has_password


async def _render_password_page(
    site: PortalSite, request: PortalRequest, person: SignedInUser, faults: Faults, minutes: int = 0
) -> Response:
    async with get_sign_in_services(site).work(person.actor) as work:
        has_password = await _has_password(work, person)
    page = PasswordPage(has_password, person.email, faults, minutes)
    return site.render_page(site.build_context(request), page, 400 if faults else 200)


async def _render_codes_page(
    site: PortalSite, request: PortalRequest, person: SignedInUser, faults: Faults, minutes: int = 0
) -> Response:
    async with get_sign_in_services(site).work(person.actor) as work:
        codes = await list_shown_codes(work, person.user_id, get_session_secret(site, request))
        account = await load_account(work, person)
    page = CodesPage(
        codes,
        account.codes_left,
        has_password=account.user.has_password,
        email=person.email,
        faults=faults,
        minutes=minutes,
    )
    return site.render_page(site.build_context(request), page, 400 if faults else 200)


_NO_APP_SETUP = AppSetup("", Markup(), "")


@signed_in
async def get_new_app_page(
    site: PortalSite, request: PortalRequest, person: SignedInUser
) -> Response:
    return await _render_new_app_page(site, request, person, {})


@takes_form
async def submit_app(
    site: PortalSite, request: PortalRequest, person: SignedInUser, fields: FormFields
) -> Response:
    """Start the setup of an authenticator app after the password, and finish it with its first
    code."""
    if "code" in fields:
        async with get_sign_in_services(site).work(person.actor) as work:
            is_valid = await finish_app_setup(work, person, fields["code"][:100])
        if not is_valid:
            return await _render_new_app_page(site, request, person, {"code": "CODE"})
        return site.redirect(request, None, "account", done="app_added")
    refusal = await confirm_own_password(
        get_sign_in_services(site), build_password_confirmation(site, request, person, fields)
    )
    if refusal is not None:
        return await _render_new_app_page(site, request, person, *describe_password_fault(refusal))
    async with get_sign_in_services(site).work(person.actor) as work:
        await start_app_setup(work, person.user_id, secrets.token_bytes(SECRET_BYTES))
    return site.redirect(request, None, "account_app")


@takes_form
async def send_passkey_options(
    site: PortalSite, request: PortalRequest, person: SignedInUser, fields: FormFields
) -> Response:
    """Return the options with which the page's script creates a passkey; 403 if the password is
    refused."""
    services = get_sign_in_services(site)
    refusal = await confirm_own_password(
        services, build_password_confirmation(site, request, person, fields)
    )
    if refusal is not None:
        body = json.dumps({"fault": describe_password_fault(refusal)[0]["password"]})
        return Response(body, 403, media_type="application/json")
    async with services.work(person.actor) as work:
        challenge = secrets.token_bytes(CHALLENGE_BYTES)
        options = await start_passkey_setup(services, work, person, challenge)
    return Response(options, media_type="application/json")


@takes_form
async def submit_passkey(
    site: PortalSite, request: PortalRequest, person: SignedInUser, fields: FormFields
) -> Response:
    services, passkey_response = get_sign_in_services(site), fields["answer"].encode()
    async with services.work(person.actor) as work:
        is_added = await add_passkey(
            services, work, person=person, body=passkey_response, name=fields.text("name")
        )
    done = "passkey_added" if is_added else "passkey_refused"
    return site.redirect(request, None, "account", done=done)


@takes_form
async def submit_factor_removal(
    site: PortalSite, request: PortalRequest, person: SignedInUser, fields: FormFields
) -> Response:
    """Remove a second factor. Raises NotFound, InvalidState."""
    factor_id = parse_uuid(fields["factor"])
    refusal = await confirm_own_password(
        get_sign_in_services(site), build_password_confirmation(site, request, person, fields)
    )
    if refusal is not None:
        done = "too_long_ago" if isinstance(refusal, SignInTooOld) else "password_wrong"
        return site.redirect(request, None, "account", done=done)
    async with get_sign_in_services(site).work(person.actor) as work:
        await remove_own_factor(work, person, factor_id)
    return site.redirect(request, None, "account", done="factor_removed")


async def _render_new_app_page(
    site: PortalSite, request: PortalRequest, person: SignedInUser, faults: Faults, minutes: int = 0
) -> Response:
    async with get_sign_in_services(site).work(person.actor) as work:
        secret = await find_new_app_secret(work, person.user_id)
        account = await load_account(work, person)
    app = _NO_APP_SETUP if secret is None else build_app_setup(secret, person.email)
    page = AppPage(
        has_password=account.user.has_password,
        secret=app.secret,
        code_image=app.code_image,
        address=app.address,
        faults=faults,
        minutes=minutes,
    )
    return site.render_page(site.build_context(request), page, 400 if faults else 200)


PAGES: RoutedPages = {
    "account": {"GET": get_account_page, "POST": submit_profile},
    "account_sessions": {"POST": submit_session_end},
    "account_password": {"GET": get_password_page, "POST": submit_password},
    "account_codes": {"GET": get_codes_page, "POST": submit_new_codes},
    "account_codes_away": {"POST": submit_codes_seen},
    "account_app": {"GET": get_new_app_page, "POST": submit_app},
    "account_passkey_ask": {"POST": send_passkey_options},
    "account_passkey": {"POST": submit_passkey},
    "account_factor": {"POST": submit_factor_removal},
}
