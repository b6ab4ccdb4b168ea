"""What `dunwell doctor` says of who writes to debtors: the operator, and what merchants lack of
what the law asks for.
"""

import asyncpg

from dunwell.accounts.installation.operator import Operator
from dunwell.accounts.installation.store import load_installation
from dunwell.accounts.merchants.legal_gaps import (
    find_gaps,
    find_gaps_without_operator,
    find_stopping_gaps,
)
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.accounts.merchants.store import load_merchants_page
from dunwell.interfaces.cli.findings.finding import Finding
from dunwell.platform.database.database import Database
from dunwell.platform.errors import Unavailable

_AT_ONCE = 500
# Whoever has more to mend begins with these.
_MOST_TOLD = 20
_APPLY = "See docs/operator/legal.md, and run: dunwell apply FILE"


async def check_identities(url: str) -> list[Finding]:
    """None of a database that is not migrated, or that answers no statement: others tell that."""
    database = await Database.open(url, application="dunwell doctor")
    try:
        async with database.connection() as connection:
            operator = (await load_installation(connection)).installation.operator
            findings, after = [check_operator(operator)], 0
            while page := await load_merchants_page(connection, after, _AT_ONCE):
                found = (check_merchant(each, operator) for each in page)
                findings += [each for each in found if each is not None]
                after = page[-1].merchant_id
    except (Unavailable, asyncpg.PostgresError):
        return []
    finally:
        await database.close()
    return findings[: 1 + _MOST_TOLD]


def check_operator(operator: Operator | None) -> Finding:
    if operator is None:
        words = "no operator is named: the legal notice names the creditor alone"
        remedy = "If you run it for others, name the operator: dunwell apply installation.yaml"
        return Finding("operator", words, remedy, is_note=True)
    name = operator.legal.name
    if operator.is_agency and operator.registration is None:
        words = f"{name} collects for others, and no registration is named"
        remedy = "Germany wants debt collectors registered (section 10 RDG): operator.registration"
        return Finding("operator", words, remedy, is_note=True)
    role = "collects for the creditors" if operator.is_agency else "is the creditors' own service"
    return Finding("operator", f"{name} {role}")


def check_merchant(merchant: Merchant, operator: Operator | None) -> Finding | None:
    """Return None if the merchant lacks nothing.

    Without an operator the creditor's details are the whole legal notice, so a merchant without any
    is named too.
    """
    find = find_gaps_without_operator if operator is None else find_gaps
    gaps = find(merchant.configuration)
    if not gaps:
        return None
    is_stopped = bool(find_stopping_gaps(merchant))
    effect = "no new claims until it has" if is_stopped else "told to debtors as it stands"
    words = "; ".join(f"{gap.key}: {gap.reason}" for gap in gaps)
    return Finding(
        "legal", f"{merchant.key} lacks {words} ({effect})", _APPLY, is_note=not is_stopped
    )
