"""Requests for the debtor's pages, and the services and contexts that their routes share."""

import math
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Any, ClassVar
from zoneinfo import ZoneInfo

from starlette.responses import Response
from starlette.types import Receive, Scope

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import build_debtor_actor
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.cases.payments.provider import PaymentProviders
from dunwell.contact.messages.letters.printer import LetterPrinter
from dunwell.core.files.inspection import Inspector
from dunwell.core.files.storage import SealedFiles
from dunwell.interfaces.landing.notifications.writer import NoticeWriter
from dunwell.interfaces.landing.render.pages import DebtorPageContext, DebtorPages, VisitorSession
from dunwell.interfaces.landing.render.typed_fields import list_typed_texts
from dunwell.interfaces.landing.session.details import NOTHING, Detail
from dunwell.interfaces.landing.session.session import (
    EXPIRY_WARNING,
    HANDLE,
    VALUE_BYTES,
    Session,
    derive_form_token,
    is_form_token,
    looks_like_token,
    parse_cookies,
)
from dunwell.interfaces.landing.session.store import OpenedClaim, find_successor, load_opened_claim
from dunwell.interfaces.web.application import WebSite
from dunwell.interfaces.web.requests import ForeignForm, PageRequest, choose_language
from dunwell.interfaces.web.responses import build_page_response, build_redirect, render_cookie
from dunwell.interfaces.web.templates import Page
from dunwell.platform.database.database import Connection

_IN_CLAIM = re.compile(rf"/claim/({HANDLE})(?:/|$)", re.ASCII)


class DebtorRequest(PageRequest):
    """A request for a debtor's page, and the claim that its cookie opened."""

    def __init__(self, scope: Scope, receive: Receive, origin: str) -> None:
        super().__init__(scope, receive, origin)
        # The claim of the session that the cookie names, once it was loaded.
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
        """The hash of the session cookie of the claim that the address names."""
        return self.session_hashes.get(self.handle)

    @property
    def has_previous_token(self) -> bool:
        """Return whether the cookie's token was replaced within the last ten seconds."""
        return self.opened is not None and self.opened.session.session_hash != self.session_hash


class EndedPage(Page, frozen=True):
    """The page that says why there is no session. `reason` is ENDED, TIMED_OUT, or ABSENT if this
    browser has not opened a claim."""

    template: ClassVar[str] = "ended.html"

    reason: str
    # True if what was entered is saved.
    is_kept: bool = False
    # True if the page's address contains what was chosen.
    is_query_kept: bool = False
    # The submitted texts, shown to the reader who has just sent them.
    typed: Sequence[str] = ()
    # True if only files are saved, and no text.
    are_files: bool = False


class DebtorProblemPage(Page, frozen=True):
    template: ClassVar[str] = "problem.html"

    # See `Problem`.
    kind: str
    # Minutes until the request can be repeated, or 0.
    minutes: int
    # The same in seconds.
    seconds: int
    # Set only for an internal error.
    request_id: str | None
    # The texts of a form that belonged to another session.
    typed: Sequence[str] = ()


_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "form-action {}; frame-ancestors 'none'; base-uri 'none'"
)


@dataclass(frozen=True, slots=True)
class DebtorSite(WebSite):
    """The shared services of the debtor's pages; one per process."""

    providers: PaymentProviders
    pages: DebtorPages
    # The origins of providers' own pages, by provider: a form may redirect there
    # (Content-Security-Policy, form-action).
    hand_off_origins: Mapping[str, str]
    # Writes the messages that debtors ask for.
    notices: NoticeWriter
    storage: SealedFiles
    inspector: Inspector
    # Prints receipts and confirmations.
    printer: LetterPrinter

    def build_work(self, tx: Connection, merchant: Merchant, session_id: object) -> Work:
        actor = build_debtor_actor(str(session_id))
        return Work.open(self.resources, tx, merchant, actor)

    def draw_randomness(self) -> bytes:
        return secrets.token_bytes(VALUE_BYTES)

    def build_context(
        self,
        request: PageRequest,
        merchant: Merchant | None = None,
        claims_language: str | None = None,
    ) -> DebtorPageContext:
        """Return the context of a page outside any session, or of a preview in the portal."""
        return self._build_context(request, merchant, claims_language, None)

    async def load_context(self, request: DebtorRequest) -> DebtorPageContext:
        """Return the context of a page that is also shown outside a session. In a session it names
        the creditor."""
        opened = await self.find_opened(request)
        if opened is not None and self.is_live(opened):
            return self.build_claim_context(request, opened)
        return self.build_context(request)

    def build_claim_context(self, request: DebtorRequest, opened: OpenedClaim) -> DebtorPageContext:
        """Return the context of a page in a live session. It is built once per request."""
        if request.context is None or request.context[0] is not opened:
            request.context = (opened, self._build_claim_context(request, opened))
        return request.context[1]

    def _build_claim_context(
        self, request: DebtorRequest, opened: OpenedClaim
    ) -> DebtorPageContext:
        left = opened.session.expires_at - self.now()
        visitor_session = VisitorSession(
            derive_form_token(self.resources.keys, opened.session.session_hash),
            max(1, math.ceil(left.total_seconds() / 60)),
            left <= EXPIRY_WARNING,
            opened.session.can_be_extended,
        )
        return self._build_context(request, opened.merchant, opened.facts.language, visitor_session)

    def render_page(
        self, context: DebtorPageContext, page: Page, status: int = 200,
        *, form_origins: Sequence[str] = (), more: Mapping[str, str] | None = None,
    ) -> Response:  # fmt: skip
        """Render the page. `form_origins` are other origins that its forms may redirect to, and
        `more` are additional headers."""
        policy = _POLICY.format(" ".join(["'self'", *form_origins]))
        return build_page_response(
            self.pages.render(context, page), status, policy=policy, more=more
        )

    async def find_opened(
        self, request: DebtorRequest, detail: Detail[Any] = NOTHING
    ) -> OpenedClaim | None:
        """Find the claim of the request's cookie, with `detail`. The session may have ended."""
        session_hash = request.session_hash
        if session_hash is None:
            return None
        ids = detail.list_arguments(request.path_params)
        async with self.resources.database.connection() as connection:
            opened = await load_opened_claim(connection, session_hash, detail, *ids)
            if opened is not None and opened.session.ended_at is not None:
                # The previous token of an extended session is valid for ten seconds.
                successor = await find_successor(connection, session_hash, self.now())
                if successor is not None:
                    current = successor.session_hash
                    opened = await load_opened_claim(connection, current, detail, *ids)
            request.opened = opened
        return request.opened

    def is_live(self, opened: OpenedClaim | None) -> bool:
        return opened is not None and opened.session.is_live(self.now())

    def check_token(self, session: Session, form: Mapping[str, str]) -> None:
        """Check that the form belongs to this session or to the one that it replaces: a page may
        have stayed open in another tab while the session was extended. Raises ForeignForm
        otherwise."""
        keys, token = self.resources.keys, form.get("token", "")
        hashes = filter(None, (session.session_hash, session.previous_hash))
        if not any(is_form_token(keys, each, token) for each in hashes):
            raise ForeignForm("The form belongs to another session.")

    def answer_session_ended(
        self, request: DebtorRequest, opened: OpenedClaim | None,
        *, is_kept: bool = False, are_files: bool = False, form: Mapping[str, str] | None = None,
    ) -> Response:  # fmt: skip
        """Render the page that says why there is no session: it timed out, was ended, or never
        existed in this browser. `is_kept` says that texts or files are saved until the claim is
        opened again. `form` has the submitted fields, whose texts are shown again if the form
        certainly came from our pages.
        """
        if opened is None:
            context, reason = self.build_context(request), "ABSENT"
        elif opened.session.ended_at is not None:
            context, reason = self.build_context(request), "ENDED"
        else:
            context, reason = (
                self.build_context(request, opened.merchant, opened.facts.language),
                "TIMED_OUT",
            )
        typed = list_typed_texts(form) if form and self.is_own_form(request, opened, form) else []
        is_query_kept = opened is not None and request.method == "GET" and bool(request.kept_query)
        return self.render_page(
            context,
            EndedPage(
                reason, is_kept, is_query_kept=is_query_kept, typed=typed, are_files=are_files
            ),
            403,
        )

    def is_own_form(
        self, request: DebtorRequest, opened: OpenedClaim | None, form: Mapping[str, str]
    ) -> bool:
        """Return whether the form certainly came from our pages. Outsiders must not be able to make
        our pages show their text."""
        token = form.get("token", "")
        if opened and is_form_token(self.resources.keys, opened.session.session_hash, token):
            return True
        return request.has_trusted_origin and looks_like_token(token)

    def redirect(
        self,
        context: DebtorPageContext,
        page: str,
        /,
        *,
        cookie: str | None = None,
        **values: object,
    ) -> Response:
        """Redirect to one of our pages (`build_address`). `cookie` is the session's new cookie
        value; "" removes the cookie."""
        answer = build_redirect(context.address(page, **values))
        if cookie is not None:
            self.set_cookie(answer, context.handle, cookie)
        return answer

    def set_cookie(self, answer: Response, handle: str, value: str) -> None:
        """Set the cookie of the claim with this handle; "" removes it."""
        cookie = render_cookie(handle, value, is_secure=self.is_secure)
        answer.headers.append("Set-Cookie", cookie)

    def redirect_to_verification(
        self, request: DebtorRequest, opened: OpenedClaim, name: str
    ) -> Response:
        """Redirect to the page that raises the session's level, and from there to the page of this
        name."""
        return self.redirect(self.build_claim_context(request, opened), "prove", **{"for": name})

    def _build_context(
        self, request: PageRequest, merchant: Merchant | None, claims_language: str | None,
        visitor_session: VisitorSession | None,
    ) -> DebtorPageContext:  # fmt: skip
        offered = self._list_offered_languages(merchant)
        chosen = request.chosen_language
        fallback = merchant.configuration.language if merchant else ""
        language = choose_language(
            offered,
            chosen,
            claims_language,
            accepted=request.accepted_languages,
            fallback=fallback,
        )
        return DebtorPageContext(
            language=language,
            offered=offered,
            chosen=chosen if chosen in offered else None,
            merchant=merchant,
            session=visitor_session,
            kept_query=request.kept_query,
            handle=request.handle if isinstance(request, DebtorRequest) else "",
            today=self._get_today(merchant) if merchant else None,
        )

    def _get_today(self, merchant: Merchant) -> date:
        return self.now().astimezone(ZoneInfo(merchant.configuration.timezone)).date()

    def _list_offered_languages(self, merchant: Merchant | None) -> tuple[str, ...]:
        installed = self.pages.codes
        if merchant is None or merchant.configuration.landing_page.languages == installed:
            return installed
        wanted = merchant.configuration.landing_page.languages
        return tuple(code for code in installed if code in wanted) or installed
