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

_FIELDS_OF_EVERY_STEP = {
    "id": "The step's number: unique in the workflow, in events as `actionStep.id`, never reused.",
    "name": "The step's name in the portal and in events.",
    "when": "The conditions (the guard). A claim that does not meet them skips the step, and its "
    "history shows this.",
}
_SUBJECT = "The text in each language (key: language code), in one line."
_BODY = "The text in each language (key: language code), in Markdown with placeholders."

FIELD_DESCRIPTIONS: Mapping[type[msgspec.Struct], Mapping[str, str]] = {
    Definition: {
        "settings": "The settings of the whole workflow.",
        "steps": "The steps in their order. After the last one, the claim is archived.",
        "templates": "The templates (key: name), each with its texts per channel.",
        "snippets": "The texts (key: name) that templates include as `{{ snippet.name }}`.",
    },
    ProcessSettings: {
        "languages": "The codes of the languages that every text must have. A message is in the "
        "claim's language, otherwise the merchant's, otherwise the first of these.",
        "currency": "Only claims in this currency can be assigned. Omitted: the merchant's.",
        "timezone": "The time zone of days and hours. Omitted: the merchant's.",
        "processing_start": "`DUE_DATE`: the first step runs on the due date of the first PRIMARY "
        "item, but not before the claim is assigned.",
        "contact_hours": "When debtors may be contacted. Omitted: at any hour, and waits cannot "
        "be in business days.",
        "holidays": "The public holidays on which debtors are not contacted.",
        "fees_need_contact": "A fee is skipped if no contact of this workflow has reached the "
        "debtor.",
        "late_policy": "What happens to contacts that an outage of the service has delayed. "
        "Omitted: they are sent late.",
    },
    WorkflowContactHours: {
        "weekdays": "The days on which debtors are contacted.",
        "since": "The first minute of the contact hours, in quotes.",
        "until": "The first minute after the contact hours, in quotes.",
    },
    WorkflowHolidays: {
        "country": "The country's ISO 3166-1 code, such as `DE`.",
        "subdivision": "The part of the country, such as `HH`. Omitted: only nationwide holidays.",
    },
    LatePolicy: {
        "skip_if_older_than_days": "Contacts that are delayed by more than this number of days are "
        "skipped.",
    },
    ContactStep: _FIELDS_OF_EVERY_STEP
    | {
        "channel": "The channel that is tried first.",
        "template": "The name of the template whose texts are sent.",
        "fallbacks": "The channels that are tried next if one has no address or fails permanently.",
        "send": "`IMMEDIATE`: also outside the contact hours.",
        "attachments": "`OPTIONAL`: existing attachments are sent with the message. `REQUIRED`: "
        "the contact waits for an attachment; after seven days the step fails.",
    },
    WaitStep: _FIELDS_OF_EVERY_STEP
    | {
        "days": "The number of calendar days; the wait ends at the same local time. Either this or "
        "`businessDays`.",
        "business_days": "The number of days on `contactHours.weekdays` that are not holidays. "
        "Either this or `days`.",
    },
    FeeStep: _FIELDS_OF_EVERY_STEP
    | {
        "type": "The type of the item that is added to the claim.",
        "value": "The amount in minor units, in quotes.",
    },
    CheckpointStep: _FIELDS_OF_EVERY_STEP
    | {
        "offset": "A number for the receiver of the event.",
        "message": "A text for the receiver of the event.",
    },
    Condition: {
        "outstanding": "The outstanding amount, in minor units, in quotes.",
        "total": "The sum of all items, in minor units, in quotes.",
        "age": "The debtor's age in years.",
        "primary_age_days": "Days since the first PRIMARY item was due.",
        "country": "The country of the debtor's address, or several.",
        "language": "The claim's language, or several.",
        "item_type": "The type of at least one item, or several types.",
        "has": "The contact data that the claim must have.",
        "email": "The debtor's e-mail address.",
        "mobile_number": "The debtor's mobile number.",
        "city": "The city of the debtor's address.",
        "postal_code": "The postal code of the debtor's address.",
        "custom_fields": "Required values of the claim's custom fields (key: name).",
    },
    IntegerBounds: {
        "min": "The smallest matching value.",
        "max": "The greatest matching value.",
    },
    TextTest: {
        "equals": "The whole text.",
        "starts_with": "The beginning of the text.",
        "ends_with": "The end of the text.",
    },
    Template: {
        "email": "The e-mail.",
        "sms": "The SMS.",
        "letter": "The letter.",
    },
    EmailTemplate: {"subject": _SUBJECT, "body": _BODY},
    SmsTemplate: {
        "body": "The plain text in each language (key: language code), with placeholders."
    },
    LetterTemplate: {"subject": _SUBJECT, "body": _BODY},
}
