"""Pages that belong to no part of the portal: stale forms, identity checks, merchants, keys."""

from collections.abc import Sequence
from typing import ClassVar

import msgspec

from dunwell.interfaces.web.templates import Page


class StalePage(Page, frozen=True):
    """A form of a session that is over, with all that was typed into it. is_kept: after signing in,
    it is in the form again."""

    template: ClassVar[str] = "stale.html"

    is_signed_in: bool
    back: str
    typed: Sequence[str]
    is_kept: bool


class ConfirmIdentityPage(Page, frozen=True):
    """Asks who it is before something sensitive is done, and carries the form that wants it."""

    template: ClassVar[str] = "confirm_identity.html"

    # As of `SensitiveAction`, and which of several buttons was pressed.
    action: str
    do: str
    # What the form holds: values to be read again, and all fields to be sent again.
    shown: Sequence[tuple[str, str]]
    carried: Sequence[tuple[str, str]]
    is_multipart: bool
    email: str
    has_password: bool
    has_passkey: bool
    # The single sign-on to sign in with again; None: the user has none, or it is not set up.
    provider: str | None
    # WRONG, PASSKEY, TOO_OFTEN, NOT_YET or "".
    fault: str
    minutes: int


class MerchantChoice(msgspec.Struct, frozen=True, gc=False):
    merchant_id: int
    key: str
    name: str
    is_sandbox: bool


class MerchantsPage(Page, frozen=True):
    template: ClassVar[str] = "merchants.html"

    query: str
    merchants: Sequence[MerchantChoice]
    has_more: bool
    # The id that the next page begins behind.
    after: int


class KeysPage(Page, frozen=True):
    template: ClassVar[str] = "keys.html"
