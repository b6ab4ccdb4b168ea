"""Descriptions of each field of a definition, for the operator's reference and the JSON Schema.
Names, values and defaults come from the definition itself; a test compares the two. Pure."""

from collections.abc import Mapping

import msgspec

from dunwell.core.workflows.definition import (
    CheckpointStep,
    Condition,
    ContactStep,
    Definition,
    EmailTemplate,
    FeeStep,
    IntegerBounds,
    LatePolicy,
    LetterTemplate,
    ProcessSettings,
    SmsTemplate,
    Template,
    TextTest,
    WaitStep,
    WorkflowContactHours,
    WorkflowHolidays,
)

_OF_EVERY_STEP = {
    "id": "The step's number: unique in the workflow, in events as `actionStep.id`, never reused.",
    "name": "What people and events call the step.",
    "when": "The guard. A claim that does not meet it skips the step, and its history says so.",
}
_SUBJECT = "Language code to text, of one line."
_BODY = "Language code to text, in Markdown with placeholders."

FIELD_WORDS: Mapping[type[msgspec.Struct], Mapping[str, str]] = {
    Definition: {
        "settings": "What rules the whole process.",
        "steps": "The steps, in the order in which they run. After the last the claim is archived.",
        "templates": "Name to the texts of a message in each channel.",
        "snippets": "Name to a text by language, for `{{ snippet.name }}` in templates.",
    },
    ProcessSettings: {
        "languages": "Codes of the languages every text exists in. A claim gets its own, else the "
        "merchant's, else the first.",
        "currency": "Only claims in it can be assigned. Left out: the merchant's.",
        "timezone": "Days and hours are counted in it. Left out: the merchant's.",
        "processing_start": "`DUE_DATE`: with the due date of the first PRIMARY item, never before "
        "the claim is assigned.",
        "contact_hours": "When debtors are contacted. Left out: at any hour, and no wait is in "
        "business days.",
        "holidays": "The public holidays on which nobody is contacted.",
        "fees_need_contact": "A fee is skipped as long as this run has reached nobody.",
        "late_policy": "What becomes of contacts that a standstill of the service has delayed. "
        "Left out: they are made.",
    },
    WorkflowContactHours: {
        "weekdays": "The days on which debtors are contacted.",
        "since": "The first minute of the day, in quotes.",
        "until": "The minute at which the hours end, in quotes.",
    },
    WorkflowHolidays: {
        "country": "Its ISO 3166-1 code, such as `DE`.",
        "subdivision": "Its part, such as `HH`. Left out: what holds in the whole country.",
    },
    LatePolicy: {
        "skip_if_older_than_days": "Contacts that are later than that are skipped.",
    },
    ContactStep: _OF_EVERY_STEP
    | {
        "channel": "The channel that is tried first.",
        "template": "The name of the template whose texts are sent.",
        "fallbacks": "Channels for when the one before has no address, or refuses for good.",
        "send": "`IMMEDIATE`: outside the contact hours too.",
        "attachments": "`OPTIONAL`: those that are there go along. `REQUIRED`: without one nobody "
        "is contacted; after seven days the step has failed.",
    },
    WaitStep: _OF_EVERY_STEP
    | {
        "days": "Calendar days; the wait ends at the same local time. Exactly one of the two.",
        "business_days": "Contact weekdays less holidays. Exactly one of the two.",
    },
    FeeStep: _OF_EVERY_STEP
    | {
        "type": "The type of the item that is added to the claim.",
        "value": "The amount in minor units, in quotes.",
    },
    CheckpointStep: _OF_EVERY_STEP
    | {
        "offset": "A number for the receiver of the event.",
        "message": "A text for the receiver of the event.",
    },
    Condition: {
        "outstanding": "What is to be paid, in minor units, in quotes.",
        "total": "The sum of all items, in minor units, in quotes.",
        "age": "The debtor's full years.",
        "primary_age_days": "Days since the first PRIMARY item was due.",
        "country": "The country of the debtor's address, or several.",
        "language": "The claim's language, or several.",
        "item_type": "A type that one of the items has, or several.",
        "has": "What the debtor must have.",
        "email": "The debtor's e-mail address.",
        "mobile_number": "The debtor's mobile number.",
        "city": "The city of the debtor's address.",
        "postal_code": "The postal code of the debtor's address.",
        "custom_fields": "Name to value, of the claim's custom fields.",
    },
    IntegerBounds: {
        "min": "The least value, itself included.",
        "max": "The greatest value, itself included.",
    },
    TextTest: {
        "equals": "The whole text.",
        "starts_with": "How the text begins.",
        "ends_with": "How the text ends.",
    },
    Template: {
        "email": "The e-mail.",
        "sms": "The SMS.",
        "letter": "The letter.",
    },
    EmailTemplate: {"subject": _SUBJECT, "body": _BODY},
    SmsTemplate: {"body": "Language code to plain text with placeholders."},
    LetterTemplate: {"subject": _SUBJECT, "body": _BODY},
}
