"""Requests for the debtor's pages: the claim that the address names, and its session's cookie."""

import re
from collections.abc import Mapping
from functools import cached_property

from starlette.types import Receive, Scope

from dunwell.interfaces.landing.render.pages import DebtorPageContext
from dunwell.interfaces.landing.session.cookies import HANDLE, parse_cookies
from dunwell.interfaces.landing.session.store import OpenedClaim
from dunwell.interfaces.web.requests import PageRequest

_IN_CLAIM = re.compile(rf"/claim/({HANDLE})(?:/|$)", re.ASCII)


class DebtorRequest(PageRequest):
    """A request for a debtor's page, and the claim that its cookie opened."""

    def __init__(self, scope: Scope, receive: Receive, origin: str) -> None:
        super().__init__(scope, receive, origin)
        # The claim of the session that the cookie names.
        self.opened: OpenedClaim | None = None
        # The context of the pages about `opened`.
        self.context: tuple[OpenedClaim, DebtorPageContext] | None = None

    @cached_property
    def handle(self) -> str:
        """The handle of the claim that the address names, or ""."""
        found = _IN_CLAIM.match(self.scope["path"])
        return "" if found is None else found[1]

    @cached_property
    def session_hashes(self) -> Mapping[str, bytes]:
        """The hashes of the session cookies, by handle."""
        return parse_cookies(self.cookies, is_secure=self._origin.startswith("https://"))

    @property
    def session_hash(self) -> bytes | None:
        """The hash of the cookie for the claim that the address names."""
        return self.session_hashes.get(self.handle)

    @property
    def has_previous_token(self) -> bool:
        """Whether the cookie's token was replaced within the last ten seconds."""
        return self.opened is not None and self.opened.session.session_hash != self.session_hash
