"""What the list of workflows shows, and the pages about one of them as a whole."""

from collections.abc import Sequence
from typing import ClassVar

from dunwell.cases.rollout.look_at_workflows import LookedAtWorkflow
from dunwell.cases.rollout.scenarios.save_scenario import ScenarioView
from dunwell.cases.rollout.scenarios.switch import SwitchReport
from dunwell.interfaces.web.templates import Page


class WorkflowsPage(Page, frozen=True):
    """scenarios: of a merchant that is not switched. name, faults: of the form for a new one."""

    template: ClassVar[str] = "workflows.html"
    area: ClassVar[str] = "workflows"

    workflows: Sequence[LookedAtWorkflow]
    scenarios: Sequence[ScenarioView]
    is_switched: bool
    # Beyond it claims are not counted.
    most: int
    done_here: str
    name: str = ""
    like: str = ""
    faults: Sequence[str] = ()


class ManagePage(Page, frozen=True):
    """uses: what keeps it from being deleted; None: it was not tried."""

    template: ClassVar[str] = "workflow_manage.html"
    area: ClassVar[str] = "workflows"

    workflow: LookedAtWorkflow
    most: int
    name: str
    faults: Sequence[str]
    refusal: str
    done_here: str


class SwitchPage(Page, frozen=True):
    """seen: by which a change of the scenarios since is known."""

    template: ClassVar[str] = "switch.html"
    area: ClassVar[str] = "workflows"

    report: SwitchReport
    seen: str
    is_conflict: bool = False
    is_unticked: bool = False
