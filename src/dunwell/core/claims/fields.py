"""The fields of a claim's debtor, each declared once (CONTRACT 3), and how they are stored as rows
of `debtors`. Pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from operator import attrgetter
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta

from dunwell.platform.text.wire import LINE, PLAIN_TEXT

MAX_CUSTOM_FIELDS = 50

# The e-mail addresses that browsers accept (WHATWG HTML, valid e-mail address).
_EMAIL = (
    r"^[a-zA-Z0-9.!#$%&'*+/=?^_`{|}~-]+@[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
    r"(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$(?!\n)"
)

# A pattern's description completes the fault's message (`platform.text.shape`).
Text = Annotated[str, Meta(max_length=255, pattern=LINE, description=PLAIN_TEXT)]
Reference = Annotated[str, Meta(min_length=1, max_length=255, pattern=LINE, description=PLAIN_TEXT)]
Country = Annotated[
    str,
    Meta(
        pattern=r"^[A-Z]{2}$(?!\n)",
        description="an ISO 3166-1 code of two upper-case letters, like DE",
    ),
]
Email = Annotated[
    str,
    Meta(
        max_length=254,
        pattern=_EMAIL,
        description="one e-mail address without a name, like erika@example.org",
    ),
]
MobileNumber = Annotated[
    str,
    Meta(
        pattern=r"^\+[1-9][0-9]{5,14}$(?!\n)",
        description="a number in international format with a leading plus, like +4915112345678",
    ),
]
Language = Annotated[
    str,
    Meta(
        pattern=r"^[a-z]{2,3}$(?!\n)",
        description="an ISO 639 code of two or three lower-case letters, such as de",
    ),
]
Salutation = Literal["MR", "MS", "NEUTRAL"]
CustomFields = dict[Reference, Text]


@dataclass(frozen=True, slots=True)
class FieldDescription:
    """What the API reference says about a field in addition to its type."""

    # The description in the API reference.
    text: str
    # The description in requests that change a claim, if it differs.
    patch_text: str | None = None
    # The value in the reference's example of a claim.
    example: str | None = None
    # True if the contract has the field. Otherwise Dunwell has added it.
    in_contract: bool = False


class _Fields(
    msgspec.Struct,
    frozen=True,
    forbid_unknown_fields=True,
    rename="camel",
    # The values from JSON have no cycles, so the garbage collector need not track them. This makes
    # parsing a batch of a thousand claims faster.
    gc=False,
):
    pass


class AddressSubmission(_Fields, frozen=True, kw_only=True):
    """A postal address."""

    street: Annotated[Text | None, FieldDescription("Street and number.")] = None
    address_line2: Annotated[
        Text | None, FieldDescription("A further line of the address: floor, care of.")
    ] = None
    postal_code: Annotated[Text | None, FieldDescription("As it is written in that country.")] = (
        None
    )
    city: Annotated[Text | None, FieldDescription("The city, as on a letter.")] = None
    country: Annotated[Country | None, FieldDescription("ISO 3166-1 alpha-2, like DE.")] = None


class DebtorName(_Fields, frozen=True, kw_only=True):
    """How a debtor is addressed: a person, a company, or a person at a company."""

    salutation: Annotated[
        Salutation | None,
        FieldDescription(
            "How letters and e-mails address a person. NEUTRAL, or none: by the full name.",
            example="MS",
        ),
    ] = None
    first_name: Annotated[
        Text | None, FieldDescription("The debtor's first name.", example="Erika", in_contract=True)
    ] = msgspec.field(default=None, name="debtorName")
    last_name: Annotated[
        Text | None,
        FieldDescription(
            "The debtor's last name. Required unless companyName is given.",
            patch_text="The debtor's last name. It cannot be removed without a companyName.",
            example="Mustermann",
            in_contract=True,
        ),
    ] = msgspec.field(default=None, name="debtorLastName")
    company_name: Annotated[
        Text | None,
        FieldDescription(
            "The debtor's company. Required unless debtorLastName is given.",
            patch_text="The debtor's company. It cannot be removed without a debtorLastName.",
        ),
    ] = None


class ContactData(DebtorName, frozen=True, kw_only=True):
    """The fields that can be changed after a claim was created. All of them are personal data."""

    email: Annotated[
        Email | None,
        FieldDescription(
            "The debtor's e-mail address.", example="erika@example.org", in_contract=True
        ),
    ] = None
    mobile_number: Annotated[
        MobileNumber | None,
        FieldDescription(
            "International format with a leading plus sign, like +4915112345678.",
            example="+4915112345678",
            in_contract=True,
        ),
    ] = None
    language: Annotated[
        Language | None, FieldDescription("The debtor's language, ISO 639, like de.", example="en")
    ] = None
    date_of_birth: Annotated[date | None, FieldDescription("YYYY-MM-DD.")] = None
    address: Annotated[
        AddressSubmission | None,
        FieldDescription(
            "The debtor's postal address.",
            patch_text="Only the given fields change.",
        ),
    ] = None
    customer_number: Annotated[
        Text | None,
        FieldDescription("Your number for the debtor; events include it.", example="C-7001"),
    ] = None
    contract_number: Annotated[Text | None, FieldDescription("Your number for the contract.")] = (
        None
    )
    custom_fields: Annotated[
        Annotated[CustomFields, Meta(max_length=MAX_CUSTOM_FIELDS)] | None,
        FieldDescription(
            "Up to 50 texts under names of your choice.",
            patch_text="Only the given fields change; null removes a field.",
        ),
    ] = None

    @property
    def has_contact(self) -> bool:
        return self.email is not None or self.mobile_number is not None or self.has_address

    @property
    def has_address(self) -> bool:
        """True if a letter can be sent."""
        return self.address is not None and bool(self.address.street and self.address.city)


class DebtorFields(ContactData, frozen=True, kw_only=True):
    """All fields of a debtor: those that can be changed, and those that cannot."""

    max_deferral_on: Annotated[
        date | None, FieldDescription("No payment may be deferred beyond this date. YYYY-MM-DD.")
    ] = msgspec.field(default=None, name="maxDeferralDate")


@dataclass(frozen=True, slots=True)
class DebtorField:
    """A field of a debtor, which is also a column of `debtors`."""

    name: str
    wire_name: str
    # The types with and without their limits. Neither contains None, although every field may be
    # None.
    limited_type: Any
    plain_type: Any
    about: FieldDescription
    is_patchable: bool

    @property
    def sql_type(self) -> str:
        if self.plain_type is date:
            return "date"
        is_object = get_origin(self.plain_type) is dict or self.plain_type is AddressSubmission
        return "jsonb" if is_object else "text"


@cache
def list_fields(shape: type[msgspec.Struct]) -> tuple[DebtorField, ...]:
    """Return the fields of one of the structs above, in order."""
    hints = get_type_hints(shape, include_extras=True)
    return tuple(
        _build_field(each.name, each.encode_name, hints[each.name])
        for each in msgspec.structs.fields(shape)
    )


def _build_field(name: str, wire_name: str, hint: Any) -> DebtorField:
    optional, about = get_args(hint)
    assert get_origin(optional) in (Union, UnionType)
    limited_type, _ = get_args(optional)
    plain_type = (
        get_args(limited_type)[0] if get_origin(limited_type) is Annotated else limited_type
    )
    is_patchable = name in ContactData.__struct_fields__
    return DebtorField(
        name,
        wire_name,
        limited_type=limited_type,
        plain_type=plain_type,
        about=about,
        is_patchable=is_patchable,
    )


FIELDS = list_fields(DebtorFields)
ADDRESS_FIELDS = list_fields(AddressSubmission)


Shape = TypeVar("Shape", bound=DebtorName)

_ADDRESS_KEYS = tuple(each.name for each in ADDRESS_FIELDS)
_get_address_values = attrgetter(*_ADDRESS_KEYS)
# A struct, because it is created and encoded several times as fast as a dictionary. The JSON omits
# fields that are None.
_AddressRow: Any = msgspec.defstruct(
    "_AddressRow",
    [(name, Any, None) for name in _ADDRESS_KEYS],
    frozen=True,
    gc=False,
    omit_defaults=True,
)


def render_columns(shape: type[DebtorName], table: str | None = None) -> str:
    """Return the columns of a struct for SQL, such as `d.first_name, d.last_name` for the table
    `d`."""
    prefix = f"{table}." if table else ""
    return ", ".join(prefix + each.name for each in list_fields(shape))


def render_record_columns(shape: type[DebtorName]) -> str:
    """Return the columns with their types for json_to_record: `first_name text, last_name text`."""
    return ", ".join(f"{each.name} {each.sql_type}" for each in list_fields(shape))


def build_debtor_row(fields: DebtorName) -> dict[str, Any]:
    """Return the values of a struct by column name."""
    row = {name: getattr(fields, name) for name in fields.__struct_fields__}
    address = row.get("address")
    return row | {"address": build_address_row(address)} if address else row


def build_address_row(address: AddressSubmission) -> object:
    row: object = _AddressRow(*_get_address_values(address))
    return row


def build_debtor_fields(row: Mapping[str, Any], shape: type[Shape]) -> Shape:
    """Build a struct of the type `shape` from a row that has at least its columns."""
    values = {name: row[name] for name in shape.__struct_fields__}
    if values.get("address") is not None:
        values["address"] = AddressSubmission(**values["address"])
    return shape(**values)
