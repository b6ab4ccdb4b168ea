"""What rules may ask about a submitted claim, looked up when it is asked.

A value with all of it would cost a thousand claims more than their rules do. Pure.
"""

from collections.abc import Collection, Mapping
from datetime import date

from dunwell.cases.intake.submission import ClaimSubmission
from dunwell.core.claims.conditions import count_years


class SubmittedFacts:
    """A claim on the day it is created, in the merchant's zone (`claims.conditions.Facts`)."""

    __slots__ = ("_claim", "_today")

    def __init__(self, claim: ClaimSubmission, today: date) -> None:
        self._claim = claim
        self._today = today

    @property
    def outstanding_cents(self) -> int:
        return self.total_cents

    @property
    def total_cents(self) -> int:
        return sum([int(item.value) for item in self._claim.items])

    @property
    def age(self) -> int | None:
        return count_years(self._claim.date_of_birth, self._today)

    @property
    def primary_age_days(self) -> int | None:
        for item in self._claim.items:
            if item.type == "PRIMARY":
                first = item.due_date or item.item_date
                return None if first is None else (self._today - first).days
        return None

    @property
    def item_types(self) -> Collection[str]:
        return [item.type for item in self._claim.items]

    @property
    def language(self) -> str | None:
        return self._claim.language

    @property
    def country(self) -> str | None:
        address = self._claim.address
        return None if address is None else address.country

    @property
    def city(self) -> str | None:
        address = self._claim.address
        return None if address is None else address.city

    @property
    def postal_code(self) -> str | None:
        address = self._claim.address
        return None if address is None else address.postal_code

    @property
    def email(self) -> str | None:
        return self._claim.email

    @property
    def mobile_number(self) -> str | None:
        return self._claim.mobile_number

    @property
    def has_address(self) -> bool:
        return self._claim.has_address

    @property
    def custom_fields(self) -> Mapping[str, str]:
        return self._claim.custom_fields or {}
