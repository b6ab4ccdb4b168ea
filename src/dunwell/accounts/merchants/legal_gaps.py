"""What the law of the creditor's country wants debtors to be told, and its set-up lacks.

It names each key of the merchant file with the reason. In Germany and Austria live merchants create
no claims until there are none; elsewhere gaps are told and nothing more. What nobody can know from
here (whether there is a VAT number, say) is left to those who check. Pure.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from dunwell.accounts.merchants.configuration import Configuration, LegalDetails, find_country
from dunwell.accounts.merchants.merchant import Merchant

# Where live merchants must be complete.
ENFORCED_IN = frozenset({"DE", "AT"})
# Legal forms that stand in a register, as they end a company's name.
_REGISTERED = re.compile(
    r"\b(g?GmbH|AG|SE|UG|KG|KGaA|OHG|OG|eG|eGen|e\.\s?K\.|e\.\s?U\.|FlexCo|FlexKapG)(?!\w)"
)
_REPRESENTATIVES = {
    "DE": "section 5 DDG and section 35a GmbHG want those who represent a company named",
    "AT": "section 25 MedienG wants those who represent a company named",
}
_REGISTER = {
    "DE": "section 5 DDG wants a company's register and number",
    "AT": "section 5 ECG and section 14 UGB want a company's register and number",
}
_PRIVACY = (
    "Articles 13 and 14 GDPR want debtors told on which basis their data are used, how long they "
    "are kept, and which authority takes complaints"
)

_NOTICE = "no operator is named, so the legal notice needs the creditor's {}"


@dataclass(frozen=True, slots=True)
class LegalGap:
    """A key of the merchant file, and why it is wanted."""

    key: str
    reason: str


def list_legal_gaps(configuration: Configuration) -> tuple[LegalGap, ...]:
    """By the law of its country; elsewhere by what most laws of Europe have in common."""
    if configuration.legal is None:
        return ()  # nothing is shown to anybody yet
    country = find_country(configuration) or "DE"
    return _list_gaps(configuration.legal, configuration.privacy is not None, country)


def list_legal_notice_gaps(configuration: Configuration) -> tuple[LegalGap, ...]:
    """What the legal notice lacks where no operator is named, so that it has the creditor alone.

    Everything is wanted before the first debtor reads it, also of a merchant with no details yet.
    """
    missing, country = [], find_country(configuration) or "DE"
    if configuration.contact is None:
        missing.append(LegalGap("contact", _NOTICE.format("e-mail address")))
    if configuration.legal is not None:
        return (*missing, *list_legal_gaps(configuration))
    missing += [
        LegalGap("legal", _NOTICE.format("name and address")),
        _build_representatives_gap(country),
    ]
    return (*missing, *([] if configuration.privacy else [LegalGap("privacy", _PRIVACY)]))


def list_blocking_gaps(merchant: Merchant) -> tuple[LegalGap, ...]:
    """Those that keep a live merchant of these countries from new claims."""
    if merchant.is_sandbox or find_country(merchant.configuration) not in ENFORCED_IN:
        return ()
    return list_legal_gaps(merchant.configuration)


@lru_cache(maxsize=1024)
def _list_gaps(legal: LegalDetails, has_privacy: bool, country: str) -> tuple[LegalGap, ...]:  # noqa: FBT001
    gaps = []
    if not legal.representatives:
        gaps.append(_build_representatives_gap(country))
    if legal.register is None and _REGISTERED.search(legal.name):
        reason = _REGISTER.get(country, "many laws want a company's register and number")
        gaps.append(LegalGap("legal.register", reason))
    if not has_privacy:
        gaps.append(LegalGap("privacy", _PRIVACY))
    return tuple(gaps)


def _build_representatives_gap(country: str) -> LegalGap:
    reason = _REPRESENTATIVES.get(country, "many laws want those who represent it named")
    return LegalGap("legal.representatives", f"{reason}; a sole trader names the owner")
