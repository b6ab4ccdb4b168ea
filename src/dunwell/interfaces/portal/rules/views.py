"""What the pages of assignment rules show."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import ClassVar
from uuid import UUID

import msgspec

from dunwell.cases.assignment.known_facts import Trial
from dunwell.cases.assignment.preview.effect import Effect
from dunwell.cases.assignment.read_rules import RulesView, VersionView
from dunwell.cases.assignment.rules import RuleDifference, RuleDocument
from dunwell.cases.assignment.store import DraftChange, PublishedVersion
from dunwell.interfaces.portal.rules.marks import Marks, ShownRule
from dunwell.interfaces.web.forms import Form, PlacedFaults
from dunwell.interfaces.web.templates import Page


class WorkflowChoice(msgspec.Struct, frozen=True, gc=False):
    """obstacle: why it takes no claims now; "": it does."""

    name: str
    obstacle: str = ""


class RulesPage(Page, frozen=True):
    """rows: of the draft, else of the published rules. writers: names by user id. at, by: the place
    that a rule was moved to just now, and by which button. default_typed: what somebody chose who
    was conflict; none: nobody."""

    template: ClassVar[str] = "rules.html"
    area: ClassVar[str] = "rules"

    view: RulesView
    rows: Sequence[ShownRule]
    default: str | None
    default_id: str
    default_obstacle: str
    choices: Sequence[WorkflowChoice]
    differences: Sequence[RuleDifference]
    writers: Mapping[str, str]
    currency: str
    done_here: str
    at: int
    by: str
    default_typed: str | None = None


class RulePage(Page, frozen=True):
    """known_name: "": a new rule. extra_rows: empty rows for custom fields. shares: how many rows
    there are for workflows. standing: as it is now, of somebody who was conflict. is_checked:
    whether the marks are of what is typed."""

    template: ClassVar[str] = "rule.html"
    area: ClassVar[str] = "rules"

    known_name: str
    revision: str
    form: Form
    extra_rows: int
    shares: int
    choices: Sequence[WorkflowChoice]
    currency: str
    faults: PlacedFaults = ()
    marks: Marks = Marks()
    is_checked: bool = False
    is_conflict: bool = False
    standing: RuleDocument | None = None
    last: DraftChange | None = None
    writers: Mapping[str, str] = {}


class PublishPage(Page, frozen=True):
    """own: the author whose changes need no tick. faults: field and code."""

    template: ClassVar[str] = "rules_publish.html"
    area: ClassVar[str] = "rules"

    view: RulesView
    differences: Sequence[RuleDifference]
    rows: Sequence[ShownRule]
    by_author: Sequence[tuple[str, Sequence[DraftChange]]]
    own: str
    writers: Mapping[str, str]
    currency: str
    comment: str
    agreed: Sequence[str]
    faults: Sequence[tuple[str, str]]
    targets_wrong: Sequence[str]
    is_conflict: bool


class VersionsPage(Page, frozen=True):
    template: ClassVar[str] = "rules_versions.html"
    area: ClassVar[str] = "rules"

    versions: Sequence[PublishedVersion]
    ruling: int
    writers: Mapping[str, str]
    from_version: int
    next_version: int


class VersionPage(Page, frozen=True):
    """faults: workflows it names that are gone, by the field that names them."""

    template: ClassVar[str] = "rules_version.html"
    area: ClassVar[str] = "rules"

    seen: VersionView
    revision: str
    has_draft: bool
    differences: Sequence[RuleDifference]
    writers: Mapping[str, str]
    currency: str
    faults: Sequence[str]
    is_conflict: bool


class FilePage(Page, frozen=True):
    """text: of the draft, else of the published rules, or what somebody typed. faults: where in it,
    and what is wrong there. others: what stands now, of somebody who was conflict."""

    template: ClassVar[str] = "rules_file.html"
    area: ClassVar[str] = "rules"

    revision: str
    is_draft: bool
    text: str
    faults: Sequence[tuple[str, str]]
    differences: Sequence[RuleDifference]
    is_checked: bool
    others: str
    currency: str


class ShownPossibility(msgspec.Struct, frozen=True, gc=False):
    """What so many of a hundred such claims get. No workflow: they stay unassigned."""

    percent: int
    workflow: str | None
    rule: str | None
    default: str | None
    trials: Sequence[Trial]


class TryPage(Page, frozen=True):
    """claim_id: of the claim that was found by `reference`; none: none was. form: of a
    made-up claim."""

    template: ClassVar[str] = "rules_try.html"
    area: ClassVar[str] = "rules"

    has_draft: bool
    is_draft: bool
    version: int
    possibilities: Sequence[ShownPossibility]
    currency: str
    form: Form
    reference: str = ""
    claim_id: int | None = None
    is_made_up: bool = False
    typed: Mapping[str, str] = {}
    fees: Sequence[str] = ()
    faults: PlacedFaults = ()


class EffectPage(Page, frozen=True):
    """names: of workflows. from_id: the claim that counting began at; 0: the newest. next_id: where
    it goes on; none: all claims since then are counted."""

    template: ClassVar[str] = "rules_effect.html"
    area: ClassVar[str] = "rules"

    effect: Effect
    since: datetime
    from_id: int
    next_id: int | None
    names: Mapping[UUID, str]
    version: int
