"""The fields of `core.claims.fields` as rows of `debtors`: columns for SQL, values written and
read.

Statements that store or read a debtor as a whole are composed of these lists. Pure.
"""

from collections.abc import Mapping
from operator import attrgetter
from typing import Any, TypeVar

import msgspec

from dunwell.core.claims.fields import ADDRESS_FIELDS, AddressSubmission, DebtorName, list_fields

Shape = TypeVar("Shape", bound=DebtorName)

_ADDRESS_KEYS = tuple(each.name for each in ADDRESS_FIELDS)
_take_address = attrgetter(*_ADDRESS_KEYS)
# A struct, as it is made and written several times as quickly as a dictionary. None is left out.
_AddressRow: Any = msgspec.defstruct(
    "_AddressRow",
    [(name, Any, None) for name in _ADDRESS_KEYS],
    frozen=True,
    gc=False,
    omit_defaults=True,
)


def list_columns(shape: type[DebtorName], table: str | None = None) -> str:
    """The columns of a shape's fields, of this table: `d.first_name, d.last_name`."""
    prefix = f"{table}." if table else ""
    return ", ".join(prefix + each.name for each in list_fields(shape))


def define_record(shape: type[DebtorName]) -> str:
    """The columns with their types, for json_to_record: `first_name text, last_name text`."""
    return ", ".join(f"{each.name} {each.sql_type}" for each in list_fields(shape))


def make_row(fields: DebtorName) -> dict[str, Any]:
    """The values of a shape's fields by column."""
    row = {name: getattr(fields, name) for name in fields.__struct_fields__}
    address = row.get("address")
    return row | {"address": make_address_row(address)} if address else row


def make_address_row(address: AddressSubmission) -> object:
    row: object = _AddressRow(*_take_address(address))
    return row


def read_row(row: Mapping[str, Any], shape: type[Shape]) -> Shape:
    """A row that has at least the columns of the shape's fields."""
    values = {name: row[name] for name in shape.__struct_fields__}
    if values.get("address") is not None:
        values["address"] = AddressSubmission(**values["address"])
    return shape(**values)
