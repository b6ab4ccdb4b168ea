"""The codes that a fault in a request can have, with their meanings.

The reference is generated from this table, and a test compares it with the codes in use. Pure.
"""

FAULT_CODES = {
    "REQUIRED": "The field is missing.",
    "UNKNOWN_FIELD": "The field or parameter does not exist. The message suggests the nearest one.",
    "REPEATED": "The field or parameter was given more than once.",
    "MORE_FAULTS": "One response does not list all faults. Correct these and send again.",
    "WRONG_TYPE": "The value has the wrong JSON type.",
    "WRONG_FORMAT": "The value has the wrong format. The message describes the expected format.",
    "NOT_ALLOWED": "The value is not allowed. The message lists the allowed values.",
    "TOO_SHORT": "The text has too few characters.",
    "TOO_LONG": "The text has too many characters.",
    "TOO_FEW": "The list or object has too few entries.",
    "TOO_MANY": "The list or object has too many entries.",
    "TOO_SMALL": "The number is too small.",
    "TOO_LARGE": "The number is too large.",
    "CONTROL_CHARACTER": "The text contains a control character.",
    "EMPTY_TEXT": "The text is blank.",
    "EMPTY_FILE": "The file is empty.",
    "PRIMARY_MISSING": "There is no item of type PRIMARY.",
    "UNKNOWN_ITEM": "The claim has no such item.",
    "UNKNOWN_ENDPOINT": "The merchant has no such webhook endpoint.",
    "UNKNOWN_CURRENCY": "The value is not a currency code of ISO 4217.",
    "UNKNOWN_LANGUAGE": "The value is not a language code of ISO 639.",
    "UNKNOWN_COUNTRY": "The value is not a country code of ISO 3166-1.",
    "WRONG_PHONE_NUMBER": "The value is not a valid phone number.",
    "WRONG_ORDER": "A date that must be later is earlier: a due date or an end.",
    "OTHER_CURRENCY": "The claim is in another currency.",
    "AMOUNT_CHANGED": "The amount due has changed.",
    "IN_FUTURE": "The time is in the future.",
    "BACKWARDS": "The test clock can only be advanced.",
}
