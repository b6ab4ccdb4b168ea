"""Pages that belong to no area of the portal: expired forms, identity checks, merchants, keyboard
shortcuts."""

from collections.abc import Sequence
from typing import ClassVar

import msgspec

from dunwell.interfaces.web.templates import Page


class StalePage(Page, frozen=True):
    """A form whose session has ended, with everything that was typed. is_kept: whether the form is
    filled again after signing in."""

    template: ClassVar[str] = "stale.html"

    is_signed_in: bool
    back: str
    typed: Sequence[str]
    is_kept: bool


class ConfirmIdentityPage(Page, frozen=True):
    """Asks users to confirm their identity before a sensitive action, and carries the form of the
    action."""

    template: ClassVar[str] = "confirm_identity.html"

    # The `SensitiveAction`, and which of several buttons was pressed.
    action: str
    do: str
    # The values of the form to show, and all fields to send again.
    shown: Sequence[tuple[str, str]]
    carried: Sequence[tuple[str, str]]
    is_multipart: bool
    email: str
    has_password: bool
    has_passkey: bool
    # The single sign-on provider to sign in with again, None if the user has none.
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
    # The id after which the next page begins.
    after: int


class KeysPage(Page, frozen=True):
    template: ClassVar[str] = "keys.html"
