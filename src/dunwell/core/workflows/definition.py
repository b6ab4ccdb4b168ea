"""The shape of a workflow definition as a value (CONTRACT 6). `checking` finds faults, `versions`
compares definitions. JSON names are the attributes in camelCase. Pure."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from dunwell.accounts.merchants.configuration import Cents, Channel, TimeOfDay

Weekday = Literal["MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"]
FeeType = Literal["COLLECTION_FEE", "DUNNING_FEE"]
Name = Annotated[str, Meta(min_length=1, max_length=255)]
# Language code -> text.
Texts = dict[str, Annotated[str, Meta(min_length=1, max_length=20_000)]]
# The name in `{{ snippet.<name> }}`.
SnippetName = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z0-9_-]{1,64}$(?!\n)",
        description="a name of up to 64 letters without accents, digits, - and _",
    ),
]
Days = Annotated[int, Meta(ge=1, le=3_650)]


class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    pass


class WorkflowContactHours(_Part, frozen=True):
    """When debtors may be contacted: local times as HH:MM. `until` ("to" in JSON) is exclusive."""

    weekdays: Annotated[list[Weekday], Meta(min_length=1)]
    since: TimeOfDay = msgspec.field(name="from")
    until: TimeOfDay = msgspec.field(name="to")


class WorkflowHolidays(_Part, frozen=True):
    country: str
    subdivision: str | None = None


class LatePolicy(_Part, frozen=True):
    skip_if_older_than_days: Days


class ProcessSettings(_Part, frozen=True):
    languages: Annotated[list[str], Meta(min_length=1)]
    currency: str | None = None
    timezone: str | None = None
    processing_start: Literal["CREATION", "DUE_DATE"] = "CREATION"
    contact_hours: WorkflowContactHours | None = None
    holidays: WorkflowHolidays | None = None
    fees_need_contact: bool = True
    late_policy: LatePolicy | None = None


class EmailTemplate(_Part, frozen=True):
    subject: Texts
    body: Texts


class SmsTemplate(_Part, frozen=True):
    body: Texts


class LetterTemplate(_Part, frozen=True):
    subject: Texts
    body: Texts


class Template(_Part, frozen=True):
    email: EmailTemplate | None = msgspec.field(default=None, name="EMAIL")
    sms: SmsTemplate | None = msgspec.field(default=None, name="SMS")
    letter: LetterTemplate | None = msgspec.field(default=None, name="LETTER")


class IntegerBounds(_Part, frozen=True):
    """Bounds of an integer, both inclusive. Money: strings of digits in minor units."""

    min: int | str | None = None
    max: int | str | None = None


class TextTest(_Part, frozen=True):
    equals: str | None = None
    starts_with: str | None = None
    ends_with: str | None = None


class Condition(_Part, frozen=True):
    """Properties and their tests; all must hold. For guards of steps and assignment rules."""

    outstanding: IntegerBounds | None = None
    total: IntegerBounds | None = None
    age: IntegerBounds | None = None
    primary_age_days: IntegerBounds | None = None
    country: str | list[str] | None = None
    language: str | list[str] | None = None
    item_type: str | list[str] | None = None
    has: list[Literal["email", "mobileNumber", "address"]] | None = None
    email: TextTest | None = None
    mobile_number: TextTest | None = None
    city: TextTest | None = None
    postal_code: TextTest | None = None
    custom_fields: dict[str, str] | None = None


class _Step(_Part, frozen=True, tag_field="kind"):
    # The id is unique in the workflow and never reused: `actionStep.id` in events.
    id: Annotated[int, Meta(ge=1, le=2_147_483_647)]
    name: Name
    when: Condition | None = None


class ContactStep(_Step, frozen=True, tag="COMMUNICATION", kw_only=True):
    channel: Channel
    template: str
    fallbacks: list[Channel] = []
    send: Literal["CONTACT_HOURS", "IMMEDIATE"] = "CONTACT_HOURS"
    attachments: Literal["NONE", "OPTIONAL", "REQUIRED"] = "NONE"


class WaitStep(_Step, frozen=True, tag="WAIT", kw_only=True):
    """Exactly one is set: calendar days, or business days (contact weekdays, no holidays)."""

    days: Days | None = None
    business_days: Days | None = None


class FeeStep(_Step, frozen=True, tag="FEE", kw_only=True):
    type: FeeType
    value: Cents


class CheckpointStep(_Step, frozen=True, tag="CHECKPOINT", kw_only=True):
    offset: Annotated[int, Meta(ge=-2_147_483_648, le=2_147_483_647)]
    message: Annotated[str, Meta(max_length=2_000)]


Step = ContactStep | WaitStep | FeeStep | CheckpointStep


class Definition(_Part, frozen=True):
    settings: ProcessSettings
    steps: Annotated[list[Step], Meta(min_length=1, max_length=200)]
    templates: dict[Name, Template] = {}
    snippets: dict[SnippetName, Texts] = {}
