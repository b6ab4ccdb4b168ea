"""A merchant's assignment rules as documents: the published rules, the draft, and earlier
versions.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.assignment.rules import RulesDocument, RuleSet, build_document
from dunwell.cases.assignment.store import (
    PublishedRules,
    RulesDraft,
    RulesDraftChange,
    RulesVersionSummary,
    TargetRow,
    find_published_rules,
    find_rules_draft,
    find_rules_version,
    list_draft_changes,
    list_published_versions,
    load_targets,
)
from dunwell.platform.database.database import snapshot
from dunwell.platform.errors import NotFound


@dataclass(frozen=True, slots=True)
class RulesView:
    """The published rules are None before the first publication; the draft is None if there is
    none."""

    published_rules: PublishedRules | None
    draft_rules: RulesDraft | None
    # The changes of the draft, oldest first.
    changes: tuple[RulesDraftChange, ...]
    # All workflows of the merchant, including deleted ones.
    workflows: Mapping[UUID, TargetRow]

    @property
    def version(self) -> int | None:
        return None if self.published_rules is None else self.published_rules.version

    @property
    def published(self) -> RulesDocument | None:
        return (
            None
            if self.published_rules is None
            else build_document(self.published_rules.rules, self.names)
        )

    @property
    def draft(self) -> RulesDocument | None:
        return (
            None if self.draft_rules is None else build_document(self.draft_rules.rules, self.names)
        )

    @property
    def names(self) -> Mapping[UUID, str]:
        return {row.workflow_id: row.name for row in self.workflows.values()}

    @property
    def revision(self) -> str:
        """The revision that an edit passes as `expected_revision`: the state that its author
        saw."""
        return compute_draft_revision(self.published_rules, self.draft_rules)

    @property
    def edited(self) -> RuleSet:
        """The rules that an edit starts from: the draft, or else the published rules."""
        shown = self.draft_rules or self.published_rules
        return shown.rules if shown else RuleSet()


def compute_draft_revision(published_rules: PublishedRules | None, draft: RulesDraft | None) -> str:
    return f"{published_rules.version if published_rules else 0}.{draft.revision if draft else 0}"


@dataclass(frozen=True, slots=True)
class RulesVersionView:
    version: PublishedRules
    document: RulesDocument
    is_current: bool


async def get_rules(work: Work) -> RulesView:
    work.require(Right.READ_CLAIMS)
    async with snapshot(work.tx):
        published = await find_published_rules(work.tx, work.merchant_id)
        draft = await find_rules_draft(work.tx, work.merchant_id)
        changes = await list_draft_changes(work.tx, work.merchant_id, draft) if draft else ()
        workflows = await load_targets(work.tx, work.merchant_id)
    return RulesView(published, draft, changes, workflows)


async def list_rules_versions(
    work: Work, *, up_to: int | None = None, limit: int
) -> list[RulesVersionSummary]:
    """List the published versions, newest first. With `up_to`, start at that version."""
    work.require(Right.READ_CLAIMS)
    return await list_published_versions(work.tx, work.merchant_id, up_to=up_to, limit=limit)


async def get_rules_version(work: Work, version: int) -> RulesVersionView:
    """Return a published version of the rules. Raises NotFound."""
    work.require(Right.READ_CLAIMS)
    rules_version = await find_rules_version(work.tx, work.merchant_id, version)
    current = await find_published_rules(work.tx, work.merchant_id)
    if rules_version is None or current is None:
        raise NotFound(f"There is no version {version} of the rules.")
    targets = await load_targets(work.tx, work.merchant_id)
    names = {row.workflow_id: row.name for row in targets.values()}
    return RulesVersionView(
        rules_version, build_document(rules_version.rules, names), current.version == version
    )


async def has_rules(work: Work) -> bool:
    """Return whether rules were published. Without rules, no new claim gets a workflow."""
    work.require(Right.READ_CLAIMS)
    return await find_published_rules(work.tx, work.merchant_id) is not None
