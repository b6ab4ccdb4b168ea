"""One request as the pages read it: cookie, choice of language, form, and whether it is our own.

A form is taken from our own pages alone: by what the browser says of where it comes from, and, in a
session, by the token the form bears.
"""

import re
from collections.abc import AsyncIterator, Mapping
from functools import cached_property
from urllib.parse import parse_qs

from starlette.requests import ClientDisconnect, Request
from starlette.types import Receive, Scope

from dunwell.interfaces.landing.render.addresses import LANGUAGE
from dunwell.interfaces.landing.render.pages import DebtorPageContext
from dunwell.interfaces.landing.session.cookies import HANDLE, read_cookies
from dunwell.interfaces.landing.session.store_opened import OpenedClaim
from dunwell.platform.errors import InvalidRequest, PayloadTooLarge
from dunwell.platform.http.multipart import MEDIA_TYPE, FormLimits, FormReader, Part
from dunwell.platform.http.requests import accepts_gzip, read_body

Form = dict[str, str]

_MOST_FORM_BYTES = 8 * 1024
# Of an address's query: room for a hundred items that are ticked.
_MOST_QUERY_BYTES = 4 * 1024
# What stands before the files of a form that brings some.
_MOST_TYPED_BYTES = 256 * 1024
_MOST_FIELDS = 20
_CHOICE = f"{LANGUAGE}="
_IN_CLAIM = re.compile(rf"/claim/({HANDLE})(?:/|$)", re.ASCII)
_FORM_TYPE = "application/x-www-form-urlencoded"


class ForeignForm(InvalidRequest):
    """A form that did not come from our page, or from one of another session."""


class Visit(Request):
    """A request, and what its cookie was found to open."""

    def __init__(self, scope: Scope, receive: Receive, origin: str) -> None:
        """origin: ours, as an address bar shows it."""
        super().__init__(scope, receive)
        self._origin = origin
        # Its address without what stands in it; "": it is none of ours.
        self.route = ""
        # What its cookie was found to name.
        self.opened: OpenedClaim | None = None
        # Of the page about it.
        self.frame: tuple[OpenedClaim, DebtorPageContext] | None = None
        self._query: dict[str, list[str]] | None = None
        # The fields of a form that was read without files.
        self.fields: Form = {}

    @property
    def accepted_languages(self) -> str:
        return self.headers.get("accept-language", "")[:500]

    @property
    def takes_gzip(self) -> bool:
        return accepts_gzip(self.headers.get("accept-encoding", ""))

    @property
    def client_host(self) -> str:
        return self.client.host if self.client else ""

    @property
    def chosen_language(self) -> str | None:
        is_chosen = _CHOICE.encode() in self.scope["query_string"]
        return self.read_query(LANGUAGE) if is_chosen else None

    def read_query(self, name: str) -> str | None:
        """What the address's query says of this name, the last if several times."""
        values = self.query.get(name, [])
        return values[-1] if values else None

    @property
    def query(self) -> dict[str, list[str]]:
        """All that the address's query says, by name."""
        if self._query is None:
            query = self.scope["query_string"]
            self._query = parse_qs(query[:_MOST_QUERY_BYTES].decode("latin-1")) if query else {}
        return self._query

    @cached_property
    def handle(self) -> str:
        """Of the claim that its address names; "": it names none."""
        found = _IN_CLAIM.match(self.scope["path"])
        return "" if found is None else found[1]

    @cached_property
    def session_hashes(self) -> Mapping[str, bytes]:
        """By handle, of the cookies that can be sessions'."""
        return read_cookies(self.cookies, is_secure=self._origin.startswith("https://"))

    @property
    def session_hash(self) -> bytes | None:
        """Of the session that its address names, if the visitor has its cookie."""
        return self.session_hashes.get(self.handle)

    @property
    def carried(self) -> str:
        """The address's query without the choice of language, as it was sent."""
        query = self.scope["query_string"][:_MOST_QUERY_BYTES].decode("latin-1")
        if not query:
            return ""
        return "&".join(each for each in query.split("&") if not each.startswith(_CHOICE))

    @property
    def is_surely_ours(self) -> bool:
        """Whether the browser itself says that the form is one of our pages'."""
        site, origin = self.headers.get("sec-fetch-site"), self.headers.get("origin")
        return site == "same-origin" or (site is None and origin == self._origin)

    async def read_form(self) -> Form:
        """The fields of a form of ours. Raises ForeignForm, InvalidRequest, PayloadTooLarge."""
        self._check_source(is_token_checked=False)
        return await self._read_fields()

    async def read_session_form(self) -> Form:
        """The same of one whose token the caller checks."""
        self._check_source(is_token_checked=True)
        return await self._read_fields()

    async def _read_fields(self) -> Form:
        body = await read_body(self, _MOST_FORM_BYTES)
        if body and self._media_type != _FORM_TYPE:
            raise InvalidRequest("The form cannot be read.")
        try:
            fields = parse_qs(
                body.decode(), keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS
            )
        except ValueError:
            raise InvalidRequest("The form cannot be read.") from None
        form = {name: values[-1] for name, values in fields.items()}
        if any("\x00" in value for value in form.values()):  # which the database cannot hold
            raise InvalidRequest("The form cannot be read.")
        self.fields = form
        return form

    async def read_parts(self, limits: FormLimits, most_bytes: int) -> AsyncIterator[Part]:
        """The parts of a form of ours that may bring files, each as soon as it is whole; the caller
        checks its token.

        Raises ForeignForm, InvalidRequest, and PayloadTooLarge for more than `most_bytes`; when so
        many are announced, without waiting for them.
        """
        self._check_source(is_token_checked=True)
        if self._media_type != MEDIA_TYPE:
            raise InvalidRequest("The form cannot be read.")
        announced = self.headers.get("content-length", "")
        is_hopeless = announced.isdecimal() and int(announced) > most_bytes
        reader, taken = FormReader(self.headers["content-type"], limits), 0
        try:
            async for chunk in self.stream():
                taken += len(chunk)
                for part in reader.take(chunk):
                    yield part
                # What comes before the files is read all the same: it is what somebody has typed.
                if taken > (_MOST_TYPED_BYTES if is_hopeless else most_bytes):
                    raise PayloadTooLarge("The form is too large.", limit=most_bytes)
        except ClientDisconnect:
            raise InvalidRequest("The form did not come to its end.") from None
        reader.close()

    @property
    def _media_type(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    def _check_source(self, *, is_token_checked: bool) -> None:
        """Our pages send no referrer, so a browser says "null" for their origin, as it does for
        many a foreign one; what says most is Sec-Fetch-Site, which no page can set. Browsers that
        do not say it are known by the session's token alone."""
        site, origin = self.headers.get("sec-fetch-site"), self.headers.get("origin")
        is_foreign = site not in (None, "same-origin", "none")
        is_nobodys = origin == "null" and site != "same-origin"
        is_unknown = is_nobodys and not (site is None and is_token_checked)
        if is_foreign or is_unknown or origin not in (None, "null", self._origin):
            raise ForeignForm("The form did not come from our page.")
