"""Who runs the installation, as debtors are told it, and in which role. Pure."""

from collections.abc import Callable
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

# The creditors' own service, or an agency that collects for them.
Role = Literal["OWN", "AGENCY"]
Line = Annotated[str, Meta(min_length=1, max_length=255)]
# Several lines.
Block = Annotated[str, Meta(min_length=1, max_length=2_000)]


class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel", kw_only=True):
    pass


class OperatorLegal(_Part, frozen=True):
    """As a creditor's, with those who represent it; a sole trader names the owner."""

    name: Line
    address: Block
    representatives: Annotated[list[Line], Meta(min_length=1)]
    register: Line | None = None
    supervisory_authority: Line | None = None
    vat_id: Line | None = None


class OperatorContact(_Part, frozen=True):
    email: Line
    phone: Line | None = None
    hours: Line | None = None


class Registration(_Part, frozen=True):
    """Of a debt collector: its number, and the authority that looks after it, with its address and
    how it is reached electronically."""

    number: Line
    authority: Block


class Operator(_Part, frozen=True):
    role: Role
    legal: OperatorLegal
    contact: OperatorContact
    registration: Registration | None = None

    @property
    def is_agency(self) -> bool:
        return self.role == "AGENCY"


# Who it is at this moment, which an installation file may change.
FindOperator = Callable[[], Operator | None]


def find_nobody() -> Operator | None:
    """Where no operator was named."""
    return None
