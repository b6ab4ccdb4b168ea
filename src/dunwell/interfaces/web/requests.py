"""Requests for pages: address, language, form fields, and whether a form came from one of our
pages."""

from collections.abc import AsyncIterator
from functools import lru_cache
from typing import ClassVar
from urllib.parse import parse_qs

from starlette.requests import ClientDisconnect, Request
from starlette.types import Receive, Scope

from dunwell.interfaces.web.forms import FormFields
from dunwell.platform.errors import InvalidRequest, PayloadTooLarge
from dunwell.platform.http.multipart import MEDIA_TYPE, FormLimits, FormPart, FormReader
from dunwell.platform.http.requests import accepts_gzip, read_body
from dunwell.platform.text.translation import SOURCE_LANGUAGE

# The parameter in a query that chooses the language.
LANGUAGE_PARAMETER = "lang"


@lru_cache(maxsize=4096)
def choose_language(
    available: tuple[str, ...],
    chosen: str | None,
    preferred: str | None,
    accepted: str,
    fallback: str,
) -> str:
    """Return the first of these languages that is available: `chosen`, `preferred`, the browser's
    languages, `fallback`, English. If none of them is, return the first of `available`.

    `chosen` is the reader's choice. `preferred` is the language of the claim or of the signed-in
    user. `accepted` is the browser's Accept-Language header. `fallback` is the merchant's language.
    """
    for language in (
        chosen,
        preferred,
        *_parse_accepted_languages(accepted),
        fallback,
        SOURCE_LANGUAGE,
    ):
        code = (language or "").partition("-")[0].lower()
        if code in available:
            return code
    return available[0]


def _parse_accepted_languages(header: str) -> list[str]:
    """Return the language tags by descending weight. Entries that cannot be parsed are ignored."""
    weighted_tags: list[tuple[float, int, str]] = []
    for entry in header.split(","):
        tag, _, rest = entry.partition(";")
        quality = rest.strip().removeprefix("q=") or "1"
        weight = float(quality) if quality.replace(".", "", 1).isdecimal() else 0.0
        if tag.strip() and weight > 0:
            weighted_tags.append((-weight, len(weighted_tags), tag.strip()))
    return [tag for _, _, tag in sorted(weighted_tags)]


# The rest of a longer query is ignored. The limit permits a hundred selected items.
_MAX_QUERY_BYTES = 4 * 1024
# How many bytes are read of a form whose Content-Length is too large. The fields of a form come
# before its files.
_MAX_BYTES_BEFORE_FILES = 256 * 1024
_LANGUAGE_PREFIX = f"{LANGUAGE_PARAMETER}="
_FORM_TYPE = "application/x-www-form-urlencoded"


class ForeignForm(InvalidRequest):
    """The form did not come from one of our pages, or belongs to another session."""


class PageRequest(Request):
    """A request for a page."""

    # The limits of a form without files.
    max_form_bytes: ClassVar[int] = 8 * 1024
    max_form_fields: ClassVar[int] = 20

    def __init__(self, scope: Scope, receive: Receive, origin: str) -> None:
        """`origin` is our own origin, as the browser's address bar shows it."""
        super().__init__(scope, receive)
        self._origin = origin
        # The path pattern of the route, "" if no route matches.
        self.route = ""
        self._query: dict[str, list[str]] | None = None
        # The fields of the form, once a form without files was read.
        self.fields = FormFields({})

    @property
    def accepted_languages(self) -> str:
        return self.headers.get("accept-language", "")[:500]

    @property
    def accepts_gzip(self) -> bool:
        return accepts_gzip(self.headers.get("accept-encoding", ""))

    @property
    def client_host(self) -> str:
        return self.client.host if self.client else ""

    @property
    def chosen_language(self) -> str | None:
        is_chosen = _LANGUAGE_PREFIX.encode() in self.scope["query_string"]
        return self.find_parameter(LANGUAGE_PARAMETER) if is_chosen else None

    @property
    def query(self) -> dict[str, list[str]]:
        """Return the values of the query by name."""
        if self._query is None:
            query = self.scope["query_string"]
            self._query = parse_qs(query[:_MAX_QUERY_BYTES].decode("latin-1")) if query else {}
        return self._query

    def find_parameter(self, name: str) -> str | None:
        """Return the last value of this name in the address's query."""
        values = self.query.get(name, [])
        return values[-1] if values else None

    def get_parameter(self, name: str) -> str:
        """Return the last value of this name without NUL and surrounding white space, or ""."""
        return (self.find_parameter(name) or "").replace("\x00", "").strip()

    def list_parameters(self, name: str) -> list[str]:
        return self.query.get(name, [])

    @property
    def kept_query(self) -> str:
        """The address's query as it was sent, without the choice of language. A link to another
        language keeps it."""
        query = self.scope["query_string"][:_MAX_QUERY_BYTES].decode("latin-1")
        if not query:
            return ""
        return "&".join(each for each in query.split("&") if not each.startswith(_LANGUAGE_PREFIX))

    @property
    def own_address(self) -> str:
        """The request's path and query, for a link back to it."""
        path: str = self.scope["path"]
        query = self.scope["query_string"].decode("latin-1")
        return f"{path}?{query}" if query else path

    @property
    def has_trusted_origin(self) -> bool:
        """Return whether the browser says that the form came from one of our pages."""
        site, origin = self.headers.get("sec-fetch-site"), self.headers.get("origin")
        return site == "same-origin" or (site is None and origin == self._origin)

    async def read_form(self) -> FormFields:
        """Read a form that can be submitted without a session. Raises ForeignForm,
        InvalidRequest, PayloadTooLarge."""
        self._check_source(is_token_checked=False)
        return await self._read_fields(PageRequest.max_form_bytes, PageRequest.max_form_fields)

    async def read_session_form(self) -> FormFields:
        """Read a form whose token the caller checks. Raises ForeignForm, InvalidRequest,
        PayloadTooLarge."""
        self._check_source(is_token_checked=True)
        return await self._read_fields(self.max_form_bytes, self.max_form_fields)

    async def _read_fields(self, max_bytes: int, max_fields: int) -> FormFields:
        body = await read_body(self, max_bytes)
        if body and self._media_type != _FORM_TYPE:
            raise InvalidRequest("The form cannot be read.")
        try:
            values = parse_qs(
                body.decode(), keep_blank_values=True, errors="strict", max_num_fields=max_fields
            )
        except ValueError:
            raise InvalidRequest("The form cannot be read.") from None
        # The database cannot store NUL.
        if any("\x00" in text for texts in values.values() for text in texts):
            raise InvalidRequest("The form cannot be read.")
        self.fields = FormFields(values)
        return self.fields

    async def read_parts(self, limits: FormLimits, max_bytes: int) -> AsyncIterator[FormPart]:
        """Yield the parts of a form that may contain files, each as soon as it is complete. The
        caller checks its token.

        Raises ForeignForm, InvalidRequest, and PayloadTooLarge for more than `max_bytes`. If the
        request announces more, it is refused without reading the files.
        """
        self._check_source(is_token_checked=True)
        if self._media_type != MEDIA_TYPE:
            raise InvalidRequest("The form cannot be read.")
        announced = self.headers.get("content-length", "")
        is_too_large = announced.isdecimal() and int(announced) > max_bytes
        reader, received_bytes = FormReader(self.headers["content-type"], limits), 0
        try:
            async for chunk in self.stream():
                received_bytes += len(chunk)
                for part in reader.feed(chunk):
                    yield part
                # The fields before the files are read in any case, so that typed text is kept.
                if received_bytes > (_MAX_BYTES_BEFORE_FILES if is_too_large else max_bytes):
                    raise PayloadTooLarge("The form is too large.", limit=max_bytes)
        except ClientDisconnect:
            raise InvalidRequest("The form is incomplete.") from None
        reader.close()

    @property
    def _media_type(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    def _check_source(self, *, is_token_checked: bool) -> None:
        """Raise ForeignForm unless the form came from one of our pages.

        Our pages send no referrer, so browsers send "null" as their origin, as they do for many
        foreign pages. Sec-Fetch-Site is the most reliable header, because no page can set it. For
        browsers that do not send it, only the session's token shows where a form came from.
        """
        site, origin = self.headers.get("sec-fetch-site"), self.headers.get("origin")
        is_foreign = site not in (None, "same-origin", "none")
        is_hidden = origin == "null" and site != "same-origin"
        is_unknown = is_hidden and not (site is None and is_token_checked)
        if is_foreign or is_unknown or origin not in (None, "null", self._origin):
            raise ForeignForm("The form did not come from our page.")
