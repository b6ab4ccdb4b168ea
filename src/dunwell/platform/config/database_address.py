"""The database's address: PostgreSQL's own, and what it says of a pooler in front. Pure."""

from dataclasses import dataclass
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

_POOLER = "pooler"
# The one kind that has to be known: it gives each transaction another of its connections.
TRANSACTION = "transaction"


@dataclass(frozen=True, slots=True)
class DatabaseAddress:
    """`url` is what drivers understand."""

    url: str
    poolers: tuple[str, ...] = ()

    @property
    def is_pooled(self) -> bool:
        return TRANSACTION in self.poolers


def read_address(url: str) -> DatabaseAddress:
    """Takes `pooler` out of the address's options; no other word of it is touched."""
    query = urlsplit(url).query
    options = parse_qsl(query, keep_blank_values=True)
    poolers = tuple(value for name, value in options if name == _POOLER)
    if not poolers:
        return DatabaseAddress(url)
    kept = urlencode([each for each in options if each[0] != _POOLER], quote_via=quote)
    head, _, _ = url.partition("?")
    return DatabaseAddress(f"{head}?{kept}" if kept else head, poolers)
