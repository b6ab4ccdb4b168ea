"""A guard for sensitive actions: users must confirm their identity before the action.

    @takes_form
    @confirmed(SensitiveAction.RESET_USER)
    async def submit_reset(site, request, person, fields): ...

The handler runs if the session was confirmed within the last ten minutes. Otherwise the response is
a page that describes the action, asks for the password, a passkey or a new sign-in at the provider,
and contains the values of the form. Nothing is stored, and nothing is changed until the user
submits that page. `tests/portal/test_confirmations.py` lists which forms of the portal are guarded.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from enum import StrEnum
from functools import wraps
from typing import ClassVar, TypeVar

import msgspec
from starlette.responses import Response

from dunwell.accounts.merchants.rights import Right
from dunwell.accounts.users.factors.passkeys import find_relying_party
from dunwell.accounts.users.own_account import PasswordConfirmation
from dunwell.accounts.users.passwords import SignInServices
from dunwell.accounts.users.sessions.confirm_session import (
    confirm_by_passkey,
    confirm_by_password,
    find_confirmation_ways,
    is_confirmed,
)
from dunwell.accounts.users.sign_in.sign_in import TooManyAttempts
from dunwell.accounts.users.user import SignedInUser
from dunwell.accounts.users.user_work import Visitor
from dunwell.interfaces.portal.web.access import MerchantAccess, PortalRequest
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.portal.web.uploads import Upload
from dunwell.interfaces.web.forms import FormFields
from dunwell.interfaces.web.templates import Page
from dunwell.platform.errors import NotFound
from dunwell.platform.http.multipart import MEDIA_TYPE


class ConfirmIdentityPage(Page, frozen=True):
    """Asks users to confirm their identity before a sensitive action, and contains the form of the
    action."""

    template: ClassVar[str] = "confirm_identity.html"

    # The `SensitiveAction`, and the button that was pressed.
    action: str
    do: str
    # The values of the form to show, and all fields to send again.
    shown: Sequence[tuple[str, str]]
    resent_fields: Sequence[tuple[str, str]]
    is_multipart: bool
    email: str
    has_password: bool
    has_passkey: bool
    # The single sign-on provider to sign in with again, None if the user has none.
    provider: str | None
    # WRONG, PASSKEY, TOO_OFTEN, NOT_YET or "".
    fault: str
    minutes: int


# The fields that the confirmation page adds to the form. Handlers ignore them.
_PASSWORD, _PASSKEY, _PROVIDER = "confirm_password", "answer", "confirm_provider"
_CONFIRMATION_FIELDS = frozenset({_PASSWORD, _PASSKEY, _PROVIDER, "username", "token"})
# The fields that the page shows, so that users see what they are about to submit.
_SHOWN_FIELDS = (
    "name", "email", "role", "url", "key", "payment.bankAccount.iban",
    "payment.directDebit.account.iban",
)  # fmt: skip


class SensitiveAction(StrEnum):
    """The actions that need a confirmed session."""

    INVITE_USER = "INVITE_USER"
    CHANGE_ROLE = "CHANGE_ROLE"
    RESET_USER = "RESET_USER"
    DEACTIVATE_USER = "DEACTIVATE_USER"
    CREDENTIALS = "CREDENTIALS"
    WEBHOOKS = "WEBHOOKS"
    WEBHOOK_SECRET = "WEBHOOK_SECRET"  # noqa: S105 - not a secret
    MERCHANT_FILE = "MERCHANT_FILE"
    BANK_ACCOUNT = "BANK_ACCOUNT"
    NEW_MERCHANT = "NEW_MERCHANT"


# The permission for each action. It is checked first, so that users who lack it are not asked for
# a password.
_RIGHTS: Mapping[SensitiveAction, Right] = {
    **dict.fromkeys(SensitiveAction, Right.CONFIGURE),
    SensitiveAction.INVITE_USER: Right.PEOPLE,
    SensitiveAction.CHANGE_ROLE: Right.PEOPLE,
    SensitiveAction.RESET_USER: Right.PEOPLE,
    SensitiveAction.DEACTIVATE_USER: Right.PEOPLE,
}
_Caller = TypeVar("_Caller", SignedInUser, MerchantAccess)
_Submitted = TypeVar("_Submitted", FormFields, Upload)


def confirmed(
    action: SensitiveAction, when: Callable[[PortalRequest, FormFields], bool] | None = None
) -> Callable[
    [Callable[[PortalSite, PortalRequest, _Caller, _Submitted], Awaitable[Response]]],
    Callable[[PortalSite, PortalRequest, _Caller, _Submitted], Awaitable[Response]],
]:
    """Guard a handler of a form. `when` decides whether a form is sensitive; None means always."""

    def guard(
        handler: Callable[[PortalSite, PortalRequest, _Caller, _Submitted], Awaitable[Response]],
    ) -> Callable[[PortalSite, PortalRequest, _Caller, _Submitted], Awaitable[Response]]:
        @wraps(handler)
        async def run(
            site: PortalSite, request: PortalRequest, caller: _Caller, submitted: _Submitted
        ) -> Response:
            fields = submitted.fields if isinstance(submitted, Upload) else submitted
            if when is None or when(request, fields):
                _check_right(caller, action)
                person = caller.person if isinstance(caller, MerchantAccess) else caller
                if not is_confirmed(person, site.now()):
                    refusal = await _confirm(site, request, person, fields)
                    if refusal is not None:
                        return await _render_confirmation_page(
                            site, request, caller, action=action, fields=fields, refusal=refusal
                        )
            return await handler(site, request, caller, submitted)

        # Outer guards copy the attribute (`functools.wraps`), so that it can be read from the
        # route.
        run.sensitive_action = action  # type: ignore[attr-defined]
        return run

    return guard


class _Refusal(msgspec.Struct, frozen=True):
    """Why the session is not confirmed. `fault` is "" before the first attempt."""

    fault: str = ""
    retry_after: int = 0


def _check_right(caller: SignedInUser | MerchantAccess, action: SensitiveAction) -> None:
    """Raise NotFound if the user lacks the permission."""
    right = _RIGHTS[action]
    is_allowed = (
        caller.may(right)
        if isinstance(caller, MerchantAccess)
        else right in caller.rights_everywhere
    )
    if not is_allowed:
        raise NotFound("There is no such page.")


async def _confirm(
    site: PortalSite, request: PortalRequest, person: SignedInUser, fields: FormFields
) -> _Refusal | None:
    """Check the confirmation in the form. Return None if the session is confirmed."""
    services = SignInServices(site.resources, site.passwords)
    visitor = Visitor(request.client_host, request.headers.get("user-agent", ""))
    if _PASSWORD in fields:
        outcome = await confirm_by_password(
            services, PasswordConfirmation(person, fields[_PASSWORD], visitor)
        )
        wrong = "WRONG"
    elif fields[_PASSKEY]:
        body = fields[_PASSKEY].encode()
        outcome, wrong = await confirm_by_passkey(services, person, body, visitor), "PASSKEY"
    else:
        return _Refusal("NOT_YET" if _PROVIDER in fields else "")
    if isinstance(outcome, TooManyAttempts):
        return _Refusal("TOO_OFTEN", outcome.retry_after)
    return None if outcome is None else _Refusal(wrong)


async def _render_confirmation_page(
    site: PortalSite, request: PortalRequest, caller: SignedInUser | MerchantAccess,
    action: SensitiveAction,
    fields: FormFields, refusal: _Refusal,
) -> Response:  # fmt: skip
    person, access = (
        (caller.person, caller) if isinstance(caller, MerchantAccess) else (caller, None)
    )
    async with SignInServices(site.resources, site.passwords).work(person.actor) as work:
        methods = await find_confirmation_ways(work, person)
    is_at_provider = (
        methods.provider is not None and site.providers.find(methods.provider) is not None
    )
    page = ConfirmIdentityPage(
        action=str(action),
        do=fields["do"],
        shown=[(name, fields[name]) for name in _SHOWN_FIELDS if fields[name]],
        resent_fields=list(_list_resent_fields(fields)),
        is_multipart=request.headers.get("content-type", "").lower().startswith(MEDIA_TYPE),
        email=person.email,
        has_password=methods.has_password,
        has_passkey=methods.has_passkey
        and find_relying_party(site.resources.settings.public_url) is not None,
        provider=methods.provider if is_at_provider else None,
        fault=refusal.fault,
        minutes=-(-refusal.retry_after // 60),
    )
    response = site.render_page(
        site.build_context(request, access), page, _STATUS.get(refusal.fault, 403)
    )
    if refusal.retry_after:
        response.headers["Retry-After"] = str(refusal.retry_after)
    return response


_STATUS = {"WRONG": 400, "PASSKEY": 400, "TOO_OFTEN": 429}


def _list_resent_fields(fields: FormFields) -> list[tuple[str, str]]:
    """Return all fields of the form except those of the confirmation."""
    return [
        (name, value)
        for name in fields
        if name not in _CONFIRMATION_FIELDS
        for value in fields.all(name)
    ]
