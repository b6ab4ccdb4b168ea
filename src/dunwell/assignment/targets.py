"""The workflow that the rules give to a claim: the default's current version, in this release.

Kept per merchant and revision, which every change of rules or workflows raises: creating a claim
costs no look at the rules.
"""

from dunwell.assignment.store import load_rules
from dunwell.kit.db import Connection
from dunwell.merchants.account import Merchant
from dunwell.workflows.store import load_assignability, load_current
from dunwell.workflows.versions import Version

_MOST_KEPT = 10_000
# Merchant id -> the revision the target was read for, and the target.
_kept: dict[int, tuple[int, Version | None]] = {}


async def load_default_target(tx: Connection, merchant: Merchant) -> Version | None:
    """The version new claims start on; None: no default, or a deactivated or unpublished one.

    Whether a claim's currency fits is asked of each claim (`accepts_currency`). Not to be called
    in a transaction that changes the merchant's rules or workflows.
    """
    kept = _kept.get(merchant.merchant_id)
    if kept is not None and kept[0] == merchant.revision:
        return kept[1]
    target = await _find_default_target(tx, merchant.merchant_id)
    if len(_kept) >= _MOST_KEPT:
        _kept.pop(next(iter(_kept)))
    _kept[merchant.merchant_id] = (merchant.revision, target)
    return target


def accepts_currency(version: Version, merchant: Merchant, currency: str) -> bool:
    """A process takes claims in its own currency, which by default is its merchant's."""
    own = version.definition.settings.currency
    return currency == (own or merchant.configuration.currency)


async def _find_default_target(tx: Connection, merchant_id: int) -> Version | None:
    rules = await load_rules(tx, merchant_id)
    if rules.default is None:
        return None
    assignability = await load_assignability(tx, merchant_id, rules.default)
    if assignability is None or not assignability[1]:
        return None
    return await load_current(tx, merchant_id, rules.default)
