"""Information that the law of the creditor's country requires debtors to get and that the
configuration lacks. Pure.

Each gap names a key of the merchant file and the reason. In Germany and Austria a live merchant
with gaps cannot create claims; elsewhere gaps are only shown. Facts that Dunwell cannot know, such
as whether a VAT number exists, are left to the person who checks the set-up.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from dunwell.accounts.merchants.configuration import Configuration, LegalDetails, find_country
from dunwell.accounts.merchants.merchant import Merchant

# The countries in which gaps block a live merchant.
ENFORCED_IN = frozenset({"DE", "AT"})
# Legal forms of registered companies, at the end of a company's name.
_REGISTERED = re.compile(
    r"\b(g?GmbH|AG|SE|UG|KG|KGaA|OHG|OG|eG|eGen|e\.\s?K\.|e\.\s?U\.|FlexCo|FlexKapG)(?!\w)"
)
_REPRESENTATIVES = {
    "DE": "section 5 DDG and section 35a GmbHG require the names of a company's representatives",
    "AT": "section 25 MedienG requires the names of a company's representatives",
}
_REGISTER = {
    "DE": "section 5 DDG requires a company's register and number",
    "AT": "section 5 ECG and section 14 UGB require a company's register and number",
}
_PRIVACY = (
    "Articles 13 and 14 GDPR require that debtors learn on which legal basis their data are used, "
    "how long they are kept, and which authority accepts complaints"
)

_NOTICE = "no operator is named, so the legal notice needs the creditor's {}"


@dataclass(frozen=True, slots=True)
class LegalGap:
    """A missing key of the merchant file, and the reason why it is required."""

    key: str
    reason: str


def list_legal_gaps(configuration: Configuration) -> tuple[LegalGap, ...]:
    """Return the gaps by the law of the creditor's country; an unknown country counts as Germany.
    For a country without rules here, the requirements are those that most European laws have in
    common."""
    if configuration.legal is None:
        return ()  # Nothing is shown to debtors yet.
    country = find_country(configuration) or "DE"
    return _list_gaps(configuration.legal, configuration.privacy is not None, country)


def list_legal_notice_gaps(configuration: Configuration) -> tuple[LegalGap, ...]:
    """Return what the legal notice lacks without an operator, when it consists of the creditor's
    details alone. All details are required before the first debtor reads it, also for a new
    merchant."""
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
    """Return the gaps that block new claims: those of a live merchant in one of the countries of
    ENFORCED_IN."""
    if merchant.is_sandbox or find_country(merchant.configuration) not in ENFORCED_IN:
        return ()
    return list_legal_gaps(merchant.configuration)


@lru_cache(maxsize=1024)
def _list_gaps(legal: LegalDetails, has_privacy: bool, country: str) -> tuple[LegalGap, ...]:  # noqa: FBT001
    gaps = []
    if not legal.representatives:
        gaps.append(_build_representatives_gap(country))
    if legal.register is None and _REGISTERED.search(legal.name):
        reason = _REGISTER.get(country, "many laws require a company's register and number")
        gaps.append(LegalGap("legal.register", reason))
    if not has_privacy:
        gaps.append(LegalGap("privacy", _PRIVACY))
    return tuple(gaps)


def _build_representatives_gap(country: str) -> LegalGap:
    reason = _REPRESENTATIVES.get(country, "many laws require the names of its representatives")
    return LegalGap("legal.representatives", f"{reason}; a sole trader names the owner")
