"""Check merchants: their legal identity, storage, and workflows that leave debtors too little time
to pay."""

from collections.abc import Sequence

import asyncpg

from dunwell.accounts.installation.installation_file import Operator
from dunwell.accounts.installation.store import load_installation
from dunwell.accounts.merchants.legal_gaps import (
    list_blocking_gaps,
    list_legal_gaps,
    list_legal_notice_gaps,
)
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.accounts.merchants.store import load_merchants_page
from dunwell.cases.rollout.contact_waits import list_contact_warnings
from dunwell.core.files.store import list_merchants_near_limit
from dunwell.core.files.upload import NEAR_PERCENT, StorageUse
from dunwell.core.workflows.versions.store import CurrentDefinition, iterate_current_definitions
from dunwell.interfaces.cli.findings.finding import DoctorFinding
from dunwell.platform.config import Settings
from dunwell.platform.database.database import Database
from dunwell.platform.errors import Unavailable

_AT_ONCE = 500
# The maximum number of reported merchants. Once their faults are fixed, the next ones are reported.
_MAX_REPORTED = 20
_APPLY = "See docs/operator/legal.md, and run: dunwell apply FILE"


async def check_identities(url: str) -> list[DoctorFinding]:
    """Check the legal details of the operator and the merchants. Return nothing if the database is
    not migrated or does not respond: other checks report that."""
    database = await Database.open(url, application="dunwell doctor")
    try:
        async with database.connection() as connection:
            operator = (await load_installation(connection)).installation.operator
            findings, after = [check_operator(operator)], 0
            while page := await load_merchants_page(connection, after, _AT_ONCE):
                merchant_findings = (check_merchant(each, operator) for each in page)
                findings += [each for each in merchant_findings if each is not None]
                after = page[-1].merchant_id
    except (Unavailable, asyncpg.PostgresError):
        return []
    finally:
        await database.close()
    return findings[: 1 + _MAX_REPORTED]


def check_operator(operator: Operator | None) -> DoctorFinding:
    if operator is None:
        words = "no operator is set: the legal notice names only the creditor"
        remedy = "If you run Dunwell for others, set the operator: dunwell apply installation.yaml"
        return DoctorFinding("operator", words, remedy, is_note=True)
    name = operator.legal.name
    if operator.is_agency and operator.registration is None:
        words = f"{name} collects for others, and no registration is set"
        remedy = "German debt collectors must be registered (section 10 RDG): operator.registration"
        return DoctorFinding("operator", words, remedy, is_note=True)
    role = "collects for the creditors" if operator.is_agency else "is the creditors' own service"
    return DoctorFinding("operator", f"{name} {role}")


def check_merchant(merchant: Merchant, operator: Operator | None) -> DoctorFinding | None:
    """Return None if no legal details are missing.

    Without an operator the creditor's details are the whole legal notice, so a merchant without any
    is reported too.
    """
    find = list_legal_notice_gaps if operator is None else list_legal_gaps
    gaps = find(merchant.configuration)
    if not gaps:
        return None
    is_stopped = bool(list_blocking_gaps(merchant))
    effect = "no new claims until then" if is_stopped else "the legal notice is incomplete"
    words = "; ".join(f"{gap.key}: {gap.reason}" for gap in gaps)
    return DoctorFinding(
        "legal", f"{merchant.key} lacks {words} ({effect})", _APPLY, is_note=not is_stopped
    )


_STORAGE = "uploads"
# The maximum number of reported entries. For storage, these are the merchants that use the most.
_MAX_NAMED = 20


async def check_merchant_storage(url: str, settings: Settings) -> list[DoctorFinding]:
    """Check how much storage the uploads of each merchant use. Return nothing if the database is
    not migrated or does not respond: other checks report that."""
    min_bytes = settings.merchant_storage_bytes * NEAR_PERCENT // 100
    database = await Database.open(url, application="dunwell doctor")
    try:
        async with database.connection() as connection:
            near = await list_merchants_near_limit(connection, min_bytes, _MAX_NAMED)
    except (Unavailable, asyncpg.PostgresError):
        return []
    finally:
        await database.close()
    return describe_merchant_storage(near, settings.merchant_storage_mib)


def describe_merchant_storage(
    near: Sequence[tuple[str, int]], limit_mib: int
) -> list[DoctorFinding]:
    """Report the merchants that are near the storage limit. `near` has their keys, each with the
    bytes that its uploads use."""
    if not near:
        return [DoctorFinding(_STORAGE, f"no merchant is near its limit of {limit_mib:,} MiB")]
    remedy = "Raise DUNWELL_MERCHANT_STORAGE_MIB, or ask the merchant to delete attachments."
    uses = [(key, StorageUse(used_bytes, limit_mib * 1024 * 1024)) for key, used_bytes in near]
    return [
        DoctorFinding(
            _STORAGE, f"{key} uses {use.percent} % of {limit_mib:,} MiB", remedy, is_note=True
        )
        for key, use in uses
    ]


_WORKFLOWS = "workflows"
_REMEDY = "Publish a version with a longer wait. Claims keep the major version that they run on."


async def check_workflows(url: str) -> list[DoctorFinding]:
    """Check that each contact is followed by a sufficient wait. Return nothing if the database is
    not migrated or does not respond: other checks report that."""
    database = await Database.open(url, application="dunwell doctor")
    try:
        async with database.connection() as connection:
            findings: list[DoctorFinding] = []
            async for page in iterate_current_definitions(connection):
                findings += list_short_waits(page)
                if len(findings) > _MAX_NAMED:
                    break
    except (Unavailable, asyncpg.PostgresError):
        return []
    finally:
        await database.close()
    if not findings:
        return [
            DoctorFinding(
                _WORKFLOWS, "each contact is followed by a wait that is long enough to pay"
            )
        ]
    more = [DoctorFinding(_WORKFLOWS, "and there are more", _REMEDY, is_note=True)]
    return findings[:_MAX_NAMED] + (more if len(findings) > _MAX_NAMED else [])


def list_short_waits(definitions: Sequence[CurrentDefinition]) -> list[DoctorFinding]:
    """Return a note for each contact without a sufficient wait."""
    return [
        DoctorFinding(
            _WORKFLOWS,
            f'{current.merchant} "{current.name}": {each.message}',
            _REMEDY,
            is_note=True,
        )
        for current in definitions
        for each in list_contact_warnings(current.definition)
    ]
