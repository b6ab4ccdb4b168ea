"""The rulebook of a merchant: its rules together with the current workflows that they refer to.

The rulebook of the published rules is cached per merchant and revision. Each change of rules or
workflows raises the revision, so creating a claim usually reads no rules.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from uuid import UUID
from zoneinfo import ZoneInfo

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.cases.assignment.matching import (
    MatchedClaim,
    PreparedRule,
    RuleOutcome,
    RuleTarget,
    prepare_rules,
)
from dunwell.cases.assignment.rules import RuleSet, has_splits, list_targets
from dunwell.cases.assignment.store import (
    TargetRow,
    find_published_rules,
    find_rules_draft,
    load_targets,
)
from dunwell.core.claims.balance import PRIMARY, sum_balance
from dunwell.core.claims.conditions import ConditionFacts
from dunwell.core.claims.fields import AddressSubmission
from dunwell.core.claims.store import load_claim, load_items
from dunwell.core.workflows.store import load_newest
from dunwell.core.workflows.versions.versions import Version
from dunwell.platform.database.database import Connection


async def load_claim_facts(
    tx: Connection, merchant_id: int, claim_id: int, today: date
) -> MatchedClaim | None:
    """Return the claim's facts, or None if there is no such claim. `today` is the day in the
    merchant's time zone."""
    claim = await load_claim(tx, merchant_id, claim_id)
    if claim is None:
        return None
    items = await load_items(tx, merchant_id, claim_id)
    balance = sum_balance(items, 0)
    primary = next((item for item in items if item.type == PRIMARY), None)
    debtor = claim.debtor
    address = debtor.address or AddressSubmission()
    conditions = ConditionFacts(
        outstanding_cents=balance.outstanding_cents,
        total_cents=balance.total_cents,
        today=today,
        first_primary_on=None if primary is None else primary.due_on or primary.item_on,
        item_types=frozenset(item.type for item in items),
        date_of_birth=debtor.date_of_birth,
        language=debtor.language,
        country=address.country,
        city=address.city,
        postal_code=address.postal_code,
        email=debtor.email,
        mobile_number=debtor.mobile_number,
        has_address=debtor.has_address,
        custom_fields=debtor.custom_fields or {},
    )
    return MatchedClaim(claim_id, claim.currency, conditions)


_MAX_CACHED = 10_000


@dataclass(frozen=True, slots=True)
class Rulebook:
    """Rules and all facts about workflows that applying them needs."""

    rules: RuleSet = field(default_factory=RuleSet)
    # None for a draft, and before the first publication.
    version: int | None = None
    # By workflow id, for each workflow that the rules refer to, including deleted ones.
    targets: Mapping[UUID, RuleTarget] = field(default_factory=dict)
    names: Mapping[UUID, str] = field(default_factory=dict)
    # The versions on which new claims start.
    versions: Mapping[UUID, Version] = field(default_factory=dict)
    # The active rules, prepared for many claims. Without them, each claim gets the default if the
    # default's workflow accepts its currency.
    prepared: tuple[PreparedRule, ...] = ()

    @property
    def has_splits(self) -> bool:
        return has_splits(self.rules)

    def restrict_to(self, workflow_ids: Collection[UUID]) -> "Rulebook":
        """Return the rulebook as if only these workflows existed."""
        kept = {each: target for each, target in self.targets.items() if each in workflow_ids}
        return replace(self, targets=kept)


# Merchant id -> the revision for which the rulebook was loaded, and the rulebook.
_cache: dict[int, tuple[int, Rulebook]] = {}


async def load_rulebook(tx: Connection, merchant: Merchant) -> Rulebook:
    """Return the rulebook of the published rules, from the cache if possible.

    Do not call it in a transaction that changes the merchant's rules or workflows, because the
    result is cached for others.
    """
    cached = _cache.get(merchant.merchant_id)
    if cached is not None and cached[0] == merchant.revision:
        return cached[1]
    published = await find_published_rules(tx, merchant.merchant_id)
    rulebook = Rulebook()
    if published is not None:
        rulebook = await load_rulebook_of_rules(tx, merchant, published.rules, published.version)
    if len(_cache) >= _MAX_CACHED:
        _cache.pop(next(iter(_cache)))
    _cache[merchant.merchant_id] = (merchant.revision, rulebook)
    return rulebook


async def find_draft_rulebook(tx: Connection, merchant: Merchant) -> Rulebook | None:
    """Return the rulebook of the draft, or None if there is no draft."""
    draft = await find_rules_draft(tx, merchant.merchant_id)
    return None if draft is None else await load_rulebook_of_rules(tx, merchant, draft.rules, None)


async def load_rulebook_of_rules(
    tx: Connection, merchant: Merchant, rules: RuleSet, version: int | None
) -> Rulebook:
    """Return the rulebook of these rules. It loads the workflows that the rules refer to, in two
    statements.

    `version` is the version of published rules, or None for others.
    """
    rows = await load_targets(tx, merchant.merchant_id, list_targets(rules))
    pairs = [(row.workflow_id, row.major) for row in rows.values() if row.major is not None]
    newest = await load_newest(tx, merchant.merchant_id, pairs) if pairs else {}
    versions = {workflow_id: newest_version for (workflow_id, _), newest_version in newest.items()}
    merchant_currency = merchant.configuration.currency
    return Rulebook(
        rules=rules,
        version=version,
        targets={
            each: _build_target(row, versions.get(each), merchant_currency)
            for each, row in rows.items()
        },
        names={each: row.name for each, row in rows.items()},
        versions=versions,
        prepared=prepare_rules(rules),
    )


def compute_today(work: Work) -> date:
    """Return today in the merchant's time zone, from which rules count ages and days."""
    return work.now.astimezone(ZoneInfo(work.merchant.configuration.timezone)).date()


def _build_target(row: TargetRow, version: Version | None, merchant_currency: str) -> RuleTarget:
    if row.is_deleted:
        return RuleTarget(None, RuleOutcome.SKIPPED_DELETED)
    if version is None:
        return RuleTarget(None, RuleOutcome.SKIPPED_UNPUBLISHED)
    obstacle = None if row.assignment_enabled else RuleOutcome.SKIPPED_DEACTIVATED
    # A workflow accepts claims in its own currency, which is the merchant's by default.
    return RuleTarget(version.definition.settings.currency or merchant_currency, obstacle)
