"""One request as the portal reads it: its cookie, its query, its form, and whether it is our own.

A form is taken from our own pages alone: by what the browser says of where it comes from, and, once
somebody is signed in, by the token that it bears (`Site.check_token`).
"""

from collections.abc import Mapping
from urllib.parse import parse_qs

from dunwell.interfaces.landing.web.visit import ForeignForm
from dunwell.interfaces.landing.web.visit import Visit as _Visit
from dunwell.platform.errors import InvalidRequest
from dunwell.platform.http.requests import read_body

__all__ = ["Fields", "ForeignForm", "Visit"]

_MOST_FORM_BYTES = 256 * 1024
_MOST_FIELDS = 500
_FORM_TYPE = "application/x-www-form-urlencoded"
# Of the choice of language, beside the session's: it says nothing of anybody.
LANGUAGE_COOKIE = "dunwell-portal-language"


class Fields:
    """What a form brought, by name. A field that is not there reads as empty."""

    def __init__(self, values: Mapping[str, list[str]]) -> None:
        self._values = values

    def __getitem__(self, name: str) -> str:
        return self._values.get(name, [""])[-1]

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def text(self, name: str) -> str:
        """Without blanks around it and with plain line ends."""
        return self[name].replace("\r\n", "\n").strip()

    def all(self, name: str) -> list[str]:
        return self._values.get(name, [])

    def list_names(self) -> list[str]:
        return [*self._values]


class Visit(_Visit):
    """A request to the portal."""

    @property
    def chosen(self) -> str:
        """The language chosen here before; "": none."""
        chosen: str = self.cookies.get(LANGUAGE_COOKIE, "")
        return chosen

    def ask(self, name: str) -> str:
        """What the address's query says of this name; "": nothing."""
        return (self.read_query(name) or "").replace("\x00", "").strip()

    def ask_all(self, name: str) -> list[str]:
        return self.query.get(name, [])

    async def read_fields(self) -> Fields:
        """The fields of a form of ours. Raises ForeignForm, InvalidRequest, PayloadTooLarge."""
        self._check_source(is_token_checked=True)
        body = await read_body(self, _MOST_FORM_BYTES)
        if body and self._media_type != _FORM_TYPE:
            raise InvalidRequest("The form cannot be read.")
        try:
            values = parse_qs(
                body.decode(), keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS
            )
        except ValueError:
            raise InvalidRequest("The form cannot be read.") from None
        if any("\x00" in each for one in values.values() for each in one):
            raise InvalidRequest("The form cannot be read.")
        return Fields(values)

    @property
    def own_address(self) -> str:
        """Its path and query, to come back to."""
        path: str = self.scope["path"]
        query = self.scope["query_string"].decode("latin-1")
        return f"{path}?{query}" if query else path
