"""Whether claims have as many fields as their text has keys, so that none stood twice.

A parser keeps the last of two equal keys in silence, and a struct does not say which of its fields
were given: those that are not None were. So equal counts are certain, and others mean that a null
was sent, or a text with a quote and a colon: then the text is looked through once more. Pure.
"""

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

from dunwell.cases.intake.submission import AttachmentSubmission, ClaimSubmission, ItemSubmission
from dunwell.core.claims.fields import ADDRESS_FIELDS, FIELDS
from dunwell.platform.text.json_text import count_keys

_NAMES = tuple(field.name for field in FIELDS)
_ADDRESS_NAMES = tuple(field.name for field in ADDRESS_FIELDS)
_take_fields = attrgetter(*_NAMES)
_take_address = attrgetter(*_ADDRESS_NAMES)
_take_days = attrgetter("item_date", "due_date")
_ITEM_KEYS = len(ItemSubmission.__struct_fields__)
_ATTACHMENT_KEYS = len(AttachmentSubmission.__struct_fields__)
# referenceNumber, currency, items.
_REQUIRED_KEYS = 3


def has_given_keys(claims: Sequence[ClaimSubmission], text: bytes) -> bool:
    """`claims` were read from `text`."""
    return count_keys(text) == sum(map(_count, claims))


def _count(claim: ClaimSubmission) -> int:
    fields = _take_fields(claim)
    count = _REQUIRED_KEYS + len(_NAMES) - fields.count(None)
    for item in claim.items:
        count += _ITEM_KEYS - _take_days(item).count(None)
    if claim.attachments:
        count += 1 + _ATTACHMENT_KEYS * len(claim.attachments)
    address: Any = claim.address
    if address is not None:
        count += len(_ADDRESS_NAMES) - _take_address(address).count(None)
    if claim.custom_fields:
        count += len(claim.custom_fields)
    return count
