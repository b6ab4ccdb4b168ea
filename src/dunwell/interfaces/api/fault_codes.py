"""The codes that a fault in a request can have, with their meanings.

The reference is generated from this table, and a test compares it with the codes in use. Pure.
"""

FAULT_CODES = {
    "REQUIRED": "The field is missing.",
    "UNKNOWN_FIELD": "There is no such field or parameter; the message names the nearest one.",
    "REPEATED": "It was given more than once.",
    "MORE_FAULTS": "More was wrong than one answer tells; mend what is told and send again.",
    "WRONG_TYPE": "The value is of another JSON type.",
    "WRONG_FORMAT": "The value is not written as expected; the message says how.",
    "NOT_ALLOWED": "The value is none of those allowed; the message names them.",
    "TOO_SHORT": "The text has too few characters.",
    "TOO_LONG": "The text has too many characters.",
    "TOO_FEW": "The list or object has too few entries.",
    "TOO_MANY": "The list or object has too many entries.",
    "TOO_SMALL": "The number is too small.",
    "TOO_LARGE": "The number is too large.",
    "CONTROL_CHARACTER": "The text has a control character.",
    "EMPTY_TEXT": "The text is blank.",
    "EMPTY_FILE": "The file has no content.",
    "PRIMARY_MISSING": "No item is of type PRIMARY.",
    "UNKNOWN_ITEM": "The claim has no such item.",
    "UNKNOWN_ENDPOINT": "The merchant has no such webhook endpoint.",
    "UNKNOWN_CURRENCY": "The code is no currency of ISO 4217.",
    "UNKNOWN_LANGUAGE": "The code is no language of ISO 639.",
    "UNKNOWN_COUNTRY": "The code is no country of ISO 3166-1.",
    "WRONG_PHONE_NUMBER": "No such phone number is possible.",
    "WRONG_ORDER": "What should come later comes earlier: a due date, an end.",
    "OTHER_CURRENCY": "The claim is in another currency.",
    "AMOUNT_CHANGED": "The amount due is another one by now.",
    "IN_FUTURE": "The instant has not come yet.",
    "BACKWARDS": "The sandbox clock only moves forwards.",
}
