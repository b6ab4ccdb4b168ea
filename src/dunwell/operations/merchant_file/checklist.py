"""The checklist of a new merchant: settings that claims require, and recommended ones. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from dunwell.accounts.merchants.configuration import find_country, list_missing_keys
from dunwell.accounts.merchants.legal_gaps import ENFORCED_IN, list_legal_gaps
from dunwell.accounts.merchants.merchant import Merchant

_REQUIRED = ("legal", "contact", "channels", "payment")
_BY_LAW = ("legal.representatives", "legal.register", "privacy")


@dataclass(frozen=True, slots=True)
class ChecklistItem:
    """A key of the merchant file. If `is_required`, no claim is created without it."""

    key: str
    is_required: bool
    is_done: bool


@dataclass(frozen=True, slots=True)
class Checklist:
    needs: Sequence[ChecklistItem]
    # The country whose law applies, by ISO 3166-1.
    country: str | None

    @property
    def missing(self) -> Sequence[ChecklistItem]:
        """Return the items without which no claim can be created."""
        return [each for each in self.needs if each.is_required and not each.is_done]

    @property
    def is_configured(self) -> bool:
        return not self.missing

    @property
    def done(self) -> int:
        return sum(each.is_done for each in self.needs)


def build_checklist(merchant: Merchant) -> Checklist:
    """Build the checklist by the rules that also apply when a claim is created."""
    configuration = merchant.configuration
    country, missing = find_country(configuration), list_missing_keys(configuration)
    legal = configuration.legal
    # Most legal requirements depend on the creditor. Until it is known, only those that hold for
    # every creditor are listed.
    gaps = (
        {gap.key for gap in list_legal_gaps(configuration)} if legal else {"legal.representatives"}
    )
    if configuration.privacy is None:
        gaps.add("privacy")
    has_register = legal is not None and legal.register is not None
    wanted = [key for key in _BY_LAW if key != "legal.register" or key in gaps or has_register]
    is_enforced = not merchant.is_sandbox and country in ENFORCED_IN
    return Checklist(
        [
            *(
                ChecklistItem(key, is_required=True, is_done=key not in missing)
                for key in _REQUIRED
            ),
            *(
                ChecklistItem(key, is_required=is_enforced, is_done=key not in gaps)
                for key in wanted
            ),
        ],
        country,
    )
