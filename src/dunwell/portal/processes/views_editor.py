"""What the editor of a draft shows: its steps, one step's form, the settings' form."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import msgspec

from dunwell.errors import Fault
from dunwell.portal.processes.told_faults import ToldFault
from dunwell.portal.render.pages import Page
from dunwell.rollout.look_at_draft import LookedAtDraft
from dunwell.workflows.draft_changes import DraftChange
from dunwell.workflows.part_differences import PartDifference


class StepCard(msgspec.Struct, frozen=True, gc=False):
    """day: of the process, counted in calendar days; is_about: waits in business days are among
    them. seen: its fingerprint."""

    step: Mapping[str, Any]
    day: int
    is_about: bool
    is_changed: bool
    faults: Sequence[Fault]
    seen: str
    is_first: bool
    is_last: bool


class EditorPage(Page, frozen=True):
    template: ClassVar[str] = "workflow.html"
    area: ClassVar[str] = "workflows"

    look: LookedAtDraft
    cards: Sequence[StepCard]
    # Those that are of no step.
    faults: Sequence[ToldFault]
    seen_order: str
    currency: str
    done_here: str
    is_order_overtaken: bool = False
    overtaken_step: str = ""


class Overtaken(msgspec.Struct, frozen=True, gc=False):
    """The same part, changed by somebody else. theirs: what stands there against what was typed;
    is_gone: it was taken out."""

    change: DraftChange | None
    differences: PartDifference | None
    is_gone: bool


class PartPage(Page, frozen=True):
    """The form of a step or of the settings. shown: what its fields hold. problems: field -> what
    is wrong. seen: the part's fingerprint. is_saved: what is shown is what the draft holds."""

    area: ClassVar[str] = "workflows"

    look: LookedAtDraft
    shown: Mapping[str, Any]
    problems: Sequence[tuple[str, Fault]]
    seen: str
    is_saved: bool
    overtaken: Overtaken | None
    currency: str
    done_here: str


class StepPage(PartPage, frozen=True, kw_only=True):
    """step_id: None: of a new one, which comes behind `after`; "": first."""

    template: ClassVar[str] = "workflow_step.html"

    kind: str
    step_id: int | None
    after: str
    templates: Sequence[str]


class SettingsPage(PartPage, frozen=True):
    template: ClassVar[str] = "workflow_settings.html"
