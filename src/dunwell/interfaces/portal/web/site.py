"""What all routes of the portal share: the user, the merchant, and the context of pages."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from zoneinfo import ZoneInfo

from starlette.responses import Response

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.accounts.merchants.store import load_merchant
from dunwell.accounts.users.passwords import Passwords
from dunwell.accounts.users.sessions.sessions import find_session
from dunwell.accounts.users.single_sign_on.provider import IdentityProviders, NoIdentityProviders
from dunwell.accounts.users.user import SignedInUser
from dunwell.contact.messages.letters.printer import LetterPrinter
from dunwell.contact.sending.adapters import Adapters
from dunwell.contact.sending.channel import ChannelAdapter
from dunwell.core.files.pictures import PagePictures
from dunwell.core.files.storage import SealedFiles
from dunwell.interfaces.landing.web.site import DebtorSite
from dunwell.interfaces.portal.render.addresses import build_address
from dunwell.interfaces.portal.render.pages import PortalPageContext, PortalPages, SignedInPerson
from dunwell.interfaces.portal.web.access import (
    LANGUAGE_COOKIE,
    MerchantAccess,
    PortalRequest,
)
from dunwell.interfaces.portal.web.preview_turns import PreviewTurns
from dunwell.interfaces.web.application import WebSite
from dunwell.interfaces.web.requests import choose_language
from dunwell.interfaces.web.responses import (
    build_page_response,
    build_redirect,
    name_cookie,
    render_cookie,
)
from dunwell.interfaces.web.templates import Page
from dunwell.platform.children.document_reader import DocumentReader
from dunwell.platform.errors import NotFound
from dunwell.platform.http.requests import ConcurrencyLimit

# `name_cookie` adds the prefix.
SESSION_COOKIE = "portal"
_MAX_ID = 2**31 - 1
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types dunwell"
)


@dataclass(frozen=True, slots=True)
class PortalServices:
    """The services that an application passes to its portal. The defaults contact no outside
    system."""

    # Hashes passwords.
    passwords: Passwords = field(default_factory=Passwords)
    # Renders pages of files as images. Its owner closes it.
    painter: PagePictures = field(default_factory=PagePictures)
    documents: DocumentReader = field(default_factory=DocumentReader, kw_only=True)
    # The identity providers of single sign-on.
    providers: IdentityProviders = field(default_factory=NoIdentityProviders)
    # The merchant's channels, which send test messages.
    adapters: Adapters = field(default_factory=lambda: Adapters(()))
    # The channels with which a sandbox sends when its clock is advanced.
    channels: Sequence[ChannelAdapter] = ()
    # The queue of previews.
    previews: PreviewTurns = field(default_factory=PreviewTurns)
    # Prints previews of letters, separately from the letters for debtors. Its owner closes it. None
    # uses the printer of the debtor pages.
    preview_printer: LetterPrinter | None = None


@dataclass(frozen=True, slots=True)
class PortalSite(WebSite):
    """The shared services of the portal's pages; one per process."""

    pages: PortalPages
    # The debtor pages, for previews.
    debtors: DebtorSite
    services: PortalServices
    # Limits on forms of more than 8 KiB that are processed at once. One form needs up to 2 MiB of
    # memory, so all of them need at most 64 MiB. A user's browser sends fewer than 4 at once.
    forms_of_user: ConcurrencyLimit = field(
        default_factory=lambda: ConcurrencyLimit(4, "You are sending too many forms at once.")
    )
    forms_of_all: ConcurrencyLimit = field(
        default_factory=lambda: ConcurrencyLimit(
            32, "Too many forms are being submitted at the moment."
        )
    )

    @property
    def passwords(self) -> Passwords:
        return self.services.passwords

    @property
    def painter(self) -> PagePictures:
        return self.services.painter

    @property
    def providers(self) -> IdentityProviders:
        return self.services.providers

    @property
    def previews(self) -> PreviewTurns:
        return self.services.previews

    @property
    def preview_printer(self) -> LetterPrinter:
        return self.services.preview_printer or self.debtors.printer

    @property
    def storage(self) -> SealedFiles:
        return self.debtors.storage

    async def find_person(self, request: PortalRequest) -> SignedInUser | None:
        """Return the signed-in user, or None. The user is looked up once per request."""
        if not hasattr(request.state, "person"):
            request.state.person = None
            secret = self.get_session_secret(request)
            if secret:
                async with self.resources.database.connection() as connection:
                    request.state.person = await find_session(connection, secret, now=self.now())
        person: SignedInUser | None = request.state.person
        return person

    def get_session_secret(self, request: PortalRequest) -> str | None:
        """Return the secret in the session cookie, whether or not the session exists."""
        return request.cookies.get(name_cookie(SESSION_COOKIE, is_secure=self.is_secure))

    async def get_merchant_access(
        self, request: PortalRequest, person: SignedInUser
    ) -> MerchantAccess:
        """Return the user's access to the merchant in the URL. Raises NotFound, also if the
        user has no access to it."""
        given = request.path_params["merchant_id"]
        merchant = await self.find_merchant(int(given)) if _is_id(given) else None
        if merchant is None or not person.has_access_to(merchant.merchant_id):
            raise NotFound("There is no such merchant.")
        request.state.access = MerchantAccess(person, merchant)
        return MerchantAccess(person, merchant)

    async def find_merchant(self, merchant_id: int) -> Merchant | None:
        async with self.resources.database.connection() as connection:
            return await load_merchant(connection, merchant_id)

    @asynccontextmanager
    async def open_work(self, access: MerchantAccess) -> AsyncIterator[Work]:
        """Open a transaction at the merchant, in the user's name."""
        async with self.resources.database.transaction() as tx:
            yield Work.open(self.resources, tx, access.merchant, access.actor)

    def build_context(
        self, request: PortalRequest, access: MerchantAccess | None = None
    ) -> PortalPageContext:
        """Build the context of a page. `access` is None for a page that belongs to no merchant."""
        person: SignedInUser | None = (
            access.person if access else getattr(request.state, "person", None)
        )
        merchant = access.merchant if access else None
        rights = person.rights_everywhere if person else frozenset()
        if person and merchant:
            rights = person.rights_at(merchant.merchant_id)
        today = None
        if merchant:
            zone = ZoneInfo(merchant.configuration.timezone)
            today = merchant.now(self.resources.clock).astimezone(zone).date()
        return PortalPageContext(
            language=self._choose_language(request, person),
            offered=self.pages.codes,
            person=_describe_person(person),
            merchant=merchant,
            form_token=person.csrf if person else "",
            rights=frozenset(str(each) for each in rights),
            today=today,
            kept_query=request.kept_query,
            done=request.get_parameter("done") if request.method in ("GET", "HEAD") else "",
            path=request.scope["path"],
        )

    def render_page(
        self, context: PortalPageContext, page: Page, status: int = 200,
        *, more: Mapping[str, str] | None = None,
    ) -> Response:  # fmt: skip
        """Render a page. `more` are further headers."""
        headers = {"Permissions-Policy": "camera=(), geolocation=(), microphone=()", **(more or {})}
        return build_page_response(
            self.pages.render(context, page), status, policy=POLICY, more=headers
        )

    def render_merchant_page(
        self, request: PortalRequest, access: MerchantAccess, page: Page, status: int = 200
    ) -> Response:
        """Render a page of the merchant."""
        return self.render_page(self.build_context(request, access), page, status)

    def redirect(
        self, request: PortalRequest, access: MerchantAccess | None, page: str, /, **values: object
    ) -> Response:
        """Redirect to a page of the portal (`build_address`), at the merchant of `access`."""
        return build_redirect(self.build_context(request, access).address(page, **values))

    def redirect_to_sign_in(self, request: PortalRequest) -> Response:
        """Redirect to the sign-in page, which redirects back."""
        return build_redirect(build_address("sign_in", next=request.own_address))

    def set_session_cookie(self, response: Response, secret: str) -> None:
        """Set the session cookie. An empty secret deletes it."""
        cookie = render_cookie(SESSION_COOKIE, secret, is_secure=self.is_secure)
        response.headers.append("Set-Cookie", cookie)

    def set_language_cookie(self, request: PortalRequest, response: Response) -> None:
        """Keep the chosen language in a cookie."""
        chosen = request.chosen_language
        if chosen in self.pages.codes:
            cookie = f"{LANGUAGE_COOKIE}={chosen}; Path=/portal; HttpOnly; SameSite=Lax"
            secure = "; Secure" if self.is_secure else ""
            response.headers.append("Set-Cookie", f"{cookie}; Max-Age=31536000{secure}")

    def _choose_language(self, request: PortalRequest, person: SignedInUser | None) -> str:
        codes = self.pages.codes
        chosen = next(
            (each for each in (request.chosen_language, request.cookie_language) if each in codes),
            "",
        )
        preferred = person.language if person else None
        return choose_language(
            codes,
            chosen or None,
            preferred=preferred,
            accepted=request.accepted_languages,
            fallback="",
        )


def _describe_person(person: SignedInUser | None) -> SignedInPerson | None:
    if person is None:
        return None
    is_operator = person.global_role is not None
    return SignedInPerson(person.name, is_operator or len(person.memberships) > 1, is_operator)


def _is_id(given: str) -> bool:
    return given.isascii() and given.isdigit() and len(given) < 11 and 0 < int(given) <= _MAX_ID
