"""One request as the pages read it: cookie, choice of language, form, and whether it is our own.

A form is taken from our own pages alone: by what the browser says of where it comes from, and, in a
session, by the token the form bears.
"""

from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import parse_qs

from starlette.types import Receive

from dunwell.errors import InvalidRequest, PayloadTooLarge
from dunwell.kit.multipart import MEDIA_TYPE, FormLimits, FormReader, Part
from dunwell.landing.render.addresses import LANGUAGE
from dunwell.landing.render.pages import Frame
from dunwell.landing.session.lookup import OpenedClaim
from dunwell.landing.session.session import hash_value, name_cookie

Form = dict[str, str]

_MOST_FORM_BYTES = 8 * 1024
# Of an address's query: room for a hundred items that are ticked.
_MOST_QUERY_BYTES = 4 * 1024
# What stands before the files of a form that brings some.
_MOST_TYPED_BYTES = 256 * 1024
_MOST_FIELDS = 20
_CHOICE = f"{LANGUAGE}="
_FORM_TYPE = "application/x-www-form-urlencoded"


class ForeignForm(InvalidRequest):
    """A form that did not come from our page, or from one of another session."""


class Visit:
    """A request; headers are read once, and only those that matter."""

    def __init__(self, scope: Any, receive: Receive, origin: str) -> None:
        """scope, receive: of ASGI. origin: ours, as an address bar shows it."""
        self.scope = scope
        self._receive = receive
        self._origin = origin
        # What its cookie was found to name.
        self.opened: OpenedClaim | None = None
        # Of the page about it.
        self.frame: tuple[OpenedClaim, Frame] | None = None
        self._query: dict[str, list[str]] | None = None
        self._headers: dict[bytes, str] = {
            name: value.decode("latin-1") for name, value in scope["headers"] if name in _READ
        }

    @property
    def method(self) -> str:
        return str(self.scope["method"])

    @property
    def parameters(self) -> dict[str, Any]:
        """Those in the path."""
        parameters: dict[str, Any] = self.scope["path_params"]
        return parameters

    @property
    def is_secure(self) -> bool:
        return self._origin.startswith("https://")

    @property
    def accepted_languages(self) -> str:
        return self._headers.get(b"accept-language", "")[:500]

    @property
    def takes_gzip(self) -> bool:
        offered = self._headers.get(b"accept-encoding", "").split(",")
        return any(each.partition(";")[0].strip().lower() == "gzip" for each in offered)

    @property
    def client_host(self) -> str:
        client = self.scope["client"]
        return str(client[0]) if client else ""

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

    @property
    def session_hash(self) -> bytes | None:
        """Of the session's cookie, if one was sent that can be one."""
        name = name_cookie(is_secure=self.is_secure)
        for part in self._headers.get(b"cookie", "").split(";"):
            given, _, value = part.strip().partition("=")
            if given == name:
                return hash_value(value)
        return None

    @property
    def carried(self) -> str:
        """The address's query without the choice of language, as it was sent."""
        query = self.scope["query_string"][:_MOST_QUERY_BYTES].decode("latin-1")
        if not query:
            return ""
        return "&".join(each for each in query.split("&") if not each.startswith(_CHOICE))

    async def read_form(self) -> Form:
        """The fields of a form of ours. Raises ForeignForm, InvalidRequest, PayloadTooLarge."""
        self._check_source()
        media_type = self._headers.get(b"content-type", "").partition(";")[0].strip().lower()
        body = await self._read_body()
        if body and media_type != _FORM_TYPE:
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
        return form

    async def read_parts(self, limits: FormLimits, most_bytes: int) -> AsyncIterator[Part]:
        """The parts of a form of ours that may bring files, each as soon as it is whole.

        Raises ForeignForm, InvalidRequest, and PayloadTooLarge for more than `most_bytes`; when so
        many are announced, without waiting for them.
        """
        self._check_source()
        content_type = self._headers.get(b"content-type", "")
        if content_type.partition(";")[0].strip().lower() != MEDIA_TYPE:
            raise InvalidRequest("The form cannot be read.")
        announced = self._headers.get(b"content-length", "")
        is_hopeless = announced.isdecimal() and int(announced) > most_bytes
        reader, taken = FormReader(content_type, limits), 0
        async for chunk in self._stream():
            taken += len(chunk)
            for part in reader.take(chunk):
                yield part
            # What comes before the files is read all the same: it is what somebody has typed.
            if taken > (_MOST_TYPED_BYTES if is_hopeless else most_bytes):
                raise PayloadTooLarge("The form is too large.", limit=most_bytes)
        reader.close()

    async def _stream(self) -> AsyncIterator[bytes]:
        """The body as it comes. Raises InvalidRequest when the visitor leaves before its end."""
        is_whole = False
        while not is_whole:
            message: Any = await self._receive()
            if message["type"] == "http.disconnect":
                raise InvalidRequest("The form did not come to its end.")
            yield message.get("body", b"")
            is_whole = not message.get("more_body", False)

    def _check_source(self) -> None:
        """Our pages send no referrer, so a browser says "null" for their origin; what says most is
        Sec-Fetch-Site, which no page can set."""
        site = self._headers.get(b"sec-fetch-site")
        origin = self._headers.get(b"origin")
        is_foreign = site not in (None, "same-origin", "none")
        if is_foreign or origin not in (None, "null", self._origin):
            raise ForeignForm("The form did not come from our page.")

    async def _read_body(self) -> bytes:
        body = b""
        async for chunk in self._stream():
            body += chunk
            if len(body) > _MOST_FORM_BYTES:
                raise PayloadTooLarge("The form is too large.", limit=_MOST_FORM_BYTES)
        return body


_READ = frozenset(
    {
        b"cookie",
        b"accept-language",
        b"accept-encoding",
        b"origin",
        b"sec-fetch-site",
        b"content-type",
        b"content-length",
    }
)
