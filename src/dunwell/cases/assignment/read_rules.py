"""A merchant's assignment rules as people write them: the published ones and the draft, and the
versions there were."""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.assignment.rules import RulesDocument, RuleSet, write_rules
from dunwell.cases.assignment.store import (
    PublishedRules,
    PublishedVersion,
    RulesDraft,
    RulesDraftChange,
    TargetRow,
    load_changes,
    load_published_rules,
    load_rules_draft,
    load_rules_version,
    load_targets,
    load_versions,
)
from dunwell.platform.database.database import snapshot
from dunwell.platform.errors import NotFound


@dataclass(frozen=True, slots=True)
class RulesView:
    """None: nothing was published yet; there is no draft."""

    ruling: PublishedRules | None
    drafted: RulesDraft | None
    # Of the draft, the oldest first.
    changes: tuple[RulesDraftChange, ...]
    # Every workflow of the merchant's, deleted ones too.
    workflows: Mapping[UUID, TargetRow]

    @property
    def version(self) -> int | None:
        return None if self.ruling is None else self.ruling.version

    @property
    def published(self) -> RulesDocument | None:
        return None if self.ruling is None else write_rules(self.ruling.rules, self.names)

    @property
    def draft(self) -> RulesDocument | None:
        return None if self.drafted is None else write_rules(self.drafted.rules, self.names)

    @property
    def names(self) -> Mapping[UUID, str]:
        return {row.workflow_id: row.name for row in self.workflows.values()}

    @property
    def revision(self) -> str:
        """What stands, so that what is done about it can say what was seen."""
        return compute_draft_revision(self.ruling, self.drafted)

    @property
    def edited(self) -> RuleSet:
        """What somebody who edits goes on from: the draft, else what is published."""
        standing = self.drafted or self.ruling
        return standing.rules if standing else RuleSet()


def compute_draft_revision(ruling: PublishedRules | None, draft: RulesDraft | None) -> str:
    return f"{ruling.version if ruling else 0}.{draft.revision if draft else 0}"


@dataclass(frozen=True, slots=True)
class RulesVersionView:
    version: PublishedRules
    document: RulesDocument
    is_ruling: bool


async def read_rules(work: Work) -> RulesView:
    work.need(Right.READ_CLAIMS)
    async with snapshot(work.tx):
        published = await load_published_rules(work.tx, work.merchant_id)
        draft = await load_rules_draft(work.tx, work.merchant_id)
        changes = await load_changes(work.tx, work.merchant_id, draft) if draft else ()
        workflows = await load_targets(work.tx, work.merchant_id)
    return RulesView(published, draft, changes, workflows)


async def list_versions(
    work: Work, *, up_to: int | None = None, limit: int
) -> list[PublishedVersion]:
    """Published versions, the newest first; `up_to`: those to this one."""
    work.need(Right.READ_CLAIMS)
    return await load_versions(work.tx, work.merchant_id, up_to=up_to, limit=limit)


async def read_version(work: Work, version: int) -> RulesVersionView:
    """Raises NotFound."""
    work.need(Right.READ_CLAIMS)
    found = await load_rules_version(work.tx, work.merchant_id, version)
    ruling = await load_published_rules(work.tx, work.merchant_id)
    if found is None or ruling is None:
        raise NotFound(f"There is no version {version} of the rules.")
    targets = await load_targets(work.tx, work.merchant_id)
    names = {row.workflow_id: row.name for row in targets.values()}
    return RulesVersionView(found, write_rules(found.rules, names), ruling.version == version)


async def has_rules(work: Work) -> bool:
    """Whether any are published: without them no new claim gets a process."""
    work.need(Right.READ_CLAIMS)
    return await load_published_rules(work.tx, work.merchant_id) is not None
