"""The declaration of a list: table, order, indexes, filters and opaque cursors.

A cursor names its list and its owner, so that a cursor of another list or another merchant is
refused. It contains no secret: a forged cursor only continues a list that its owner may read.
"""

import base64
import binascii
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from typing import Annotated, Any, Generic, Literal, Self, TypeVar
from uuid import UUID

import msgspec

from dunwell.platform.database.database import Connection
from dunwell.platform.errors import Fault, ValidationError

# The range of PostgreSQL's bigint, without negative numbers, which no column has.
_Number = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
# PostgreSQL's text type cannot hold a NUL character.
_Text = Annotated[str, msgspec.Meta(pattern=r"^[^\x00]*\Z")]
_Instant = Annotated[datetime, msgspec.Meta(tz=True)]
_ENCODER = msgspec.msgpack.Encoder(uuid_format="bytes")
_WIRE_TYPES: dict[type, Any] = {
    int: _Number, str: _Text, UUID: UUID, bytes: bytes, datetime: _Instant,
}  # fmt: skip


class CursorFormat:
    """The format of the cursors of one list.

    `name` is the list's name, such as "payments", which no other list has. `owner` has the types of
    the values that say whose list it is, beginning with the merchant's id. `place` has the types of
    the values that say where the next page begins.
    """

    def __init__(self, name: str, *, owner: Sequence[type], place: Sequence[type]) -> None:
        self._name = name
        types: Any = tuple[(str, *(_WIRE_TYPES[each] for each in (*owner, *place)))]  # type: ignore[misc]
        self._decoder: msgspec.msgpack.Decoder[Any] = msgspec.msgpack.Decoder(types)

    def render(self, owner: Sequence[object], place: Sequence[object]) -> str:
        packed = _ENCODER.encode((self._name, *owner, *place))
        return base64.urlsafe_b64encode(packed).decode().rstrip("=")

    def parse(self, owner: Sequence[object], cursor: str) -> tuple[Any, ...]:
        """Return the place at which the page begins. Raises ValidationError if this is not a cursor
        of this list and this owner."""
        try:
            padded = cursor + "=" * (-len(cursor) % 4)
            packed = base64.b64decode(padded, altchars=b"-_", validate=True)
            values = self._decoder.decode(packed)
        except (binascii.Error, ValueError, msgspec.MsgspecError):
            raise build_cursor_fault() from None
        place: tuple[Any, ...] = values[1 + len(owner) :]
        if values[: 1 + len(owner)] != (self._name, *owner) or not all(map(_has_no_offset, place)):
            raise build_cursor_fault()
        return place


def _has_no_offset(value: object) -> bool:
    """Return False for an instant with an offset from UTC. Cursors are written in UTC, and not
    every offset can be converted."""
    return not isinstance(value, datetime) or not value.utcoffset()


def build_cursor_fault() -> ValidationError:
    message = "This is not a cursor of this list. Use the nextCursor of a response, or omit it."
    return ValidationError([Fault("/cursor", message, "WRONG_FORMAT")])


# The largest number of rows that one page reads.
BUDGET = 10_000

Filter = TypeVar("Filter")
Key = TypeVar("Key", int, UUID, bytes)
Item = TypeVar("Item")
Other = TypeVar("Other")
SqlType = Literal["bigint", "uuid", "bytea", "text", "timestamptz", "xid8"]
_TYPES: Mapping[str, type] = {
    "bigint": int, "uuid": UUID, "bytea": bytes, "text": str, "timestamptz": datetime, "xid8": int,
}  # fmt: skip

# A condition on the row `l`, with `{}` for each of its values, and these values.
Test = tuple[str, tuple[object, ...]]


@dataclass(frozen=True, slots=True)
class ListScope:
    """Which rows of a list are read, and when.

    `ids` has the values of the list's scope columns: the merchant, and what else the list belongs
    to. `follows_real_time` is False for a merchant with a test clock, because the order of
    transactions then says nothing about the instants in the rows.
    """

    tx: Connection
    ids: tuple[int | UUID, ...] = ()
    now: datetime | None = None
    follows_real_time: bool = True


# How one field of the filter is tested, unless it is None: a condition with `{}` for its value, or
# a function that is given the value and the scope.
FilterTest = str | Callable[[Any, ListScope], Iterable[Test]]


@dataclass(frozen=True, slots=True)
class Order:
    """The column that sorts a list. Rows with equal values are sorted by the key, unless the column
    is unique."""

    column: str
    type: SqlType
    is_unique: bool = False

    @property
    def hides_unfinished(self) -> bool:
        """True if rows of transactions that have not ended are hidden."""
        return self.type == "xid8"


WRITTEN = Order("written_by", "xid8")


@dataclass(frozen=True, slots=True)
class NarrowIndex:
    """An index that begins with what a filter asks for and continues with the list's order.

    `match` returns the values for `condition`, or None if the index does not serve this filter.
    `covers` names the fields of the filter that `condition` tests. With `is_unique_index` the
    index finds at most one row, which is shown as soon as it is committed.
    """

    name: str
    condition: str
    match: Callable[[Any], Sequence[object] | None]
    covers: tuple[str, ...] = ()
    is_unique_index: bool = False


@dataclass(frozen=True, slots=True)
class FoundKeys(Generic[Key]):
    """The keys that another index found, at most a few thousand, and the fields of the filter that
    this search has already tested."""

    keys: Sequence[Key]
    covers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedTable(Generic[Filter, Key, Item]):
    """The declaration of one list.

    `name` is the list's name in its cursors. `index` has the scope columns and then the order; it
    is not used if the list `has_few_rows`. `load` is given the connection, the scope's ids and the
    keys, and returns the items by key, without those that have been deleted. `times` names the two
    fields of the filter that limit the column `at`: the first one is inclusive, the second one
    exclusive. `filters` has one test for every other field of the filter.
    """

    name: str
    table: str
    key: str
    key_type: SqlType
    index: str
    load: Callable[..., Awaitable[Mapping[Key, Item]]]
    filter: type[Filter]
    filters: Mapping[str, FilterTest] = field(default_factory=dict)
    at: str | None = None
    times: tuple[str, str] = ("since", "until")
    # A condition that every row of the list meets, if the list shows only some of the table's rows.
    where: str | None = None
    scope: tuple[str, ...] = ("merchant_id",)
    order: Order = WRITTEN
    # The first index that serves the filter is used.
    narrow_indexes: tuple[NarrowIndex, ...] = ()
    # The fields of the filter that are expensive to test, each with the largest number of rows that
    # a page then reads.
    budgets: Mapping[str, int] = field(default_factory=dict)
    # Returns None if no other index finds only a few rows for the filter.
    list_keys_if_few: Callable[[ListScope, Any], Awaitable[FoundKeys[Key] | None]] | None = None
    # Read and sort all rows of the scope instead of walking the index.
    has_few_rows: bool = False

    def __post_init__(self) -> None:
        fields = {*self.filter.__annotations__} - {*self.times}
        if fields != self.filters.keys():
            raise ValueError(
                f"{self.name}: filters are missing or unknown: {fields ^ {*self.filters}}"
            )

    def within(self, column: str, *, name: str, index: str, order: Order | None = None) -> Self:
        """Return the list of the rows that have one given value in a further scope column. Without
        `order` there must be few of them, and they are sorted like this list."""
        load = self.load

        async def load_items(tx: Connection, *ids_and_keys: Any) -> Mapping[Key, Item]:
            *ids, _, keys = ids_and_keys
            return await load(tx, *ids, keys)

        return replace(
            self, name=name, index=index, scope=(*self.scope, column), load=load_items,
            order=order or self.order, has_few_rows=order is None, narrow_indexes=(),
        )  # fmt: skip

    def showing(
        self, *, name: str, load: Callable[..., Awaitable[Mapping[Key, Other]]]
    ) -> "ListedTable[Filter, Key, Other]":
        """Return the list of the same rows, shown as other items."""
        return replace(self, name=name, load=load)  # type: ignore[arg-type, return-value]

    def get_cursor_format(self, scope: ListScope) -> CursorFormat:
        place = (_TYPES[self.order.type], _TYPES[self.key_type])
        return _build_cursor_format(
            self.name, tuple(UUID if isinstance(each, UUID) else int for each in scope.ids),
            place[:1] if self.order.is_unique else place,
        )  # fmt: skip

    def list_tests(
        self, scope: ListScope, wanted: Filter, covered: Collection[str]
    ) -> Iterator[Test]:
        """Yield the conditions that rows must meet, without those that an index has `covered`."""
        if self.where is not None:
            yield self.where, ()
        for name, test in self.filters.items():
            value = getattr(wanted, name)
            if value is None or name in covered:
                continue
            if isinstance(test, str):
                yield test, (value,)
            else:
                yield from test(value, scope)
        for sign, instant in zip((">=", "<"), self.get_period(wanted), strict=True):
            if instant is not None:
                yield f"l.{self.at} {sign} {{}}", (instant,)

    def get_period(self, wanted: Filter) -> tuple[datetime | None, datetime | None]:
        """Return the instants since (inclusive) and until (exclusive) which rows are wanted."""
        since, until = (getattr(wanted, name, None) for name in self.times)
        return since, until

    def find_narrow_index(self, wanted: Filter) -> tuple[NarrowIndex | None, Sequence[object]]:
        """Return the first narrow index that serves the filter, and the values for its
        condition.
        """
        for index in self.narrow_indexes:
            values = index.match(wanted)
            if values is not None:
                return index, values
        return None, ()

    def get_budget(self, wanted: Filter) -> int:
        """Return the largest number of rows that a page reads with this filter."""
        limits = [rows for name, rows in self.budgets.items() if getattr(wanted, name) is not None]
        return min(BUDGET, *limits) if limits else BUDGET

    def bind(self, place: Sequence[object]) -> Sequence[object]:
        """Return the values of a cursor's place as parameters of a statement."""
        value, *key = place
        return str(value) if self.order.type == "xid8" else value, *key


@dataclass(frozen=True, slots=True)
class ListPage(Generic[Item]):
    """`next_cursor` is the cursor of the next page, None on the last page."""

    items: Sequence[Item]
    next_cursor: str | None

    def map(self, change: Callable[[Item], Other]) -> "ListPage[Other]":
        """Return the same page with `change` applied to every item."""
        return ListPage([change(each) for each in self.items], self.next_cursor)


@dataclass(frozen=True, slots=True)
class NoFilter:
    """The filter of a list that cannot be filtered."""


@dataclass(frozen=True, slots=True)
class Count:
    """`is_more` is True if there are more rows, or may be."""

    number: int
    is_more: bool


@lru_cache
def _build_cursor_format(
    name: str, owner: tuple[type, ...], place: tuple[type, ...]
) -> CursorFormat:
    return CursorFormat(name, owner=owner, place=place)
