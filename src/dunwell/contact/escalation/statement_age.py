"""A limit on the age of the bank's newest statement: without a recent one it is unknown who has
paid by transfer, so debtors who can transfer are not dunned. Pure."""

from dataclasses import dataclass
from datetime import date, timedelta

from dunwell.platform.banking_days import subtract_banking_days

_ONE_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class StatementLimit:
    """The limit of one bank account, from its first statement on."""

    account: str
    max_age_banking_days: int
    # The day up to which the bank has reported.
    reported_until: date

    def is_exceeded(self, today: date) -> bool:
        """Return whether more banking days than allowed have ended without being reported."""
        # Of the banking days up to today, the last `max_age_banking_days` may be missing; the one
        # before them must be reported.
        must_be_reported = subtract_banking_days(today + _ONE_DAY, self.max_age_banking_days + 1)
        return self.reported_until < must_be_reported


def normalize_account(iban: str) -> str:
    """Return the IBAN as it is stored with the bank account."""
    return iban.replace(" ", "").upper()
