"""The list of workflows; creating, renaming, deactivating and deleting a workflow; and the switch
from scenarios."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar
from uuid import UUID

from starlette.responses import Response

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.rollout.delete_workflow import delete_workflow
from dunwell.cases.rollout.scenarios.save_scenario import ScenarioView, list_scenarios
from dunwell.cases.rollout.scenarios.switch_to_workflows import (
    SwitchReport,
    preview_switch,
    switch_to_workflows,
)
from dunwell.cases.rollout.workflow_overviews import (
    MAX_COUNTED_CLAIMS,
    WorkflowOverview,
    get_workflow_overview,
    list_workflow_overviews,
)
from dunwell.core.workflows.change_workflow import (
    activate_workflow,
    deactivate_workflow,
    rename_workflow,
)
from dunwell.core.workflows.checking import parse_definition
from dunwell.core.workflows.definition import Definition
from dunwell.core.workflows.drafts.edit_draft import create_workflow
from dunwell.core.workflows.store import load_current, load_draft
from dunwell.interfaces.portal.web.access import MerchantAccess, PortalRequest, parse_path_id
from dunwell.interfaces.portal.web.guards import RoutedPages, at_merchant, takes_form_at_merchant
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.web.forms import FormFields
from dunwell.interfaces.web.templates import Page
from dunwell.platform.errors import InvalidState, NotFound, ValidationError
from dunwell.platform.text.differences import compute_revision

# Longer than any payment period, whatever the weekday and including bank holidays.
_WAIT_DAYS = 14


@dataclass(frozen=True, slots=True)
class FirstStepNames:
    """The names of the two steps of a new workflow, in the user's language."""

    message: str
    wait: str


async def build_first_definition(
    work: Work, copied_workflow: str, names: FirstStepNames
) -> Definition:
    """Return the definition of a new workflow.

    `copied_workflow` is the id of the workflow whose latest version, or draft if it has none, is
    copied. If it is empty, the definition has one e-mail in the merchant's language, sent on
    weekdays from 9 to 18, and a wait of two weeks; without the wait, the claim would be archived as
    soon as the e-mail is sent. Raises NotFound.
    """
    work.require(Right.CONFIGURE)
    if not copied_workflow:
        return parse_definition(_build_default_document(work, names))
    try:
        workflow_id = UUID(copied_workflow)
    except ValueError:
        raise NotFound("There is no such workflow.") from None
    current = await load_current(work.tx, work.merchant_id, workflow_id)
    newest = current or await load_draft(work.tx, work.merchant_id, workflow_id)
    if newest is None:
        raise NotFound("There is no such workflow.")
    return newest.definition


def _build_default_document(work: Work, names: FirstStepNames) -> dict[str, Any]:
    hours = {"weekdays": ["MON", "TUE", "WED", "THU", "FRI"], "from": "09:00", "to": "18:00"}
    message = {
        "id": 1, "kind": "COMMUNICATION", "name": names.message, "channel": "EMAIL",
        "template": names.message,
    }  # fmt: skip
    wait = {"id": 2, "kind": "WAIT", "name": names.wait, "days": _WAIT_DAYS}
    language = work.merchant.configuration.language
    return {"settings": {"languages": [language], "contactHours": hours}, "steps": [message, wait]}


class WorkflowsPage(Page, frozen=True):
    """The list of workflows. `scenarios` are those of a merchant that has not switched to
    workflows. `name` and `faults` belong to the form that creates a workflow."""

    template: ClassVar[str] = "workflows.html"
    area: ClassVar[str] = "workflows"

    workflows: Sequence[WorkflowOverview]
    scenarios: Sequence[ScenarioView]
    is_switched: bool
    # Claims are counted up to this number.
    max_counted: int
    result_code: str
    name: str = ""
    copied_workflow: str = ""
    faults: Sequence[str] = ()


class WorkflowManagePage(Page, frozen=True):
    """The page that renames, deactivates or deletes a workflow. `refusal` is the reason why the
    last action failed."""

    template: ClassVar[str] = "workflow_manage.html"
    area: ClassVar[str] = "workflows"

    workflow: WorkflowOverview
    max_counted: int
    name: str
    faults: Sequence[str]
    refusal: str
    result_code: str


class WorkflowSwitchPage(Page, frozen=True):
    """The preview of the switch. `revision` is that of the scenarios that the page shows, so
    that a later change is detected."""

    template: ClassVar[str] = "switch.html"
    area: ClassVar[str] = "workflows"

    report: SwitchReport
    revision: str
    is_conflict: bool = False
    is_unticked: bool = False


@at_merchant
async def get_workflows_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    return await _render_list_page(site, request, access)


@takes_form_at_merchant
async def submit_new_workflow(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    """Create a workflow with one message and a wait, or as a copy of another one."""
    name, copied_workflow = fields.text("name"), fields["like"]
    names = FirstStepNames(fields.text("first") or name, fields.text("wait") or name)
    try:
        async with site.open_work(access) as work:
            definition = await build_first_definition(work, copied_workflow, names)
            workflow_id = await create_workflow(work, name, definition)
    except ValidationError as refusal:
        faults = [each.code for each in refusal.faults]
        return await _render_list_page(
            site, request, access, name=name, copied_workflow=copied_workflow, faults=faults
        )
    return site.redirect(request, access, "workflow", workflow_id=workflow_id)


async def _render_list_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, *, name: str = "",
    copied_workflow: str = "",
    faults: list[str] | None = None,
) -> Response:  # fmt: skip
    is_switched = access.merchant.switched_to_workflows
    async with site.open_work(access) as work:
        workflows = await list_workflow_overviews(work) if is_switched else []
        scenarios = [] if is_switched else await list_scenarios(work)
    page = WorkflowsPage(
        workflows=workflows, scenarios=scenarios, is_switched=is_switched,
        max_counted=MAX_COUNTED_CLAIMS,
        result_code=request.get_parameter("done"), name=name, copied_workflow=copied_workflow,
        faults=faults or (),
    )  # fmt: skip
    return site.render_merchant_page(request, access, page, 422 if faults else 200)


@at_merchant
async def get_management_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    if not access.may(Right.CONFIGURE):
        raise NotFound("There is no such page.")
    return await _render_manage_page(site, request, access)


@takes_form_at_merchant
async def submit_management(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    workflow_id, action = parse_path_id(request, "workflow_id"), fields["do"]
    try:
        async with site.open_work(access) as work:
            await _apply_action(work, workflow_id, action, fields)
    except ValidationError as refusal:
        faults = [each.code for each in refusal.faults]
        return await _render_manage_page(
            site, request, access, name=fields.text("name"), faults=faults
        )
    except InvalidState as refusal:
        return await _render_manage_page(site, request, access, refusal=refusal.message)
    if action == "delete":
        return site.redirect(request, access, "workflows", done="deleted")
    return site.redirect(request, access, "workflow_manage", workflow_id=workflow_id, done=action)


async def _apply_action(work: Work, workflow_id: UUID, action: str, fields: FormFields) -> None:
    if action == "rename":
        await rename_workflow(work, workflow_id, fields.text("name"))
    elif action == "deactivate":
        await deactivate_workflow(work, workflow_id)
    elif action == "activate":
        await activate_workflow(work, workflow_id)
    elif action == "delete":
        await delete_workflow(work, workflow_id)
    else:
        # An unknown action. Users without the permission get the same answer as for a known one.
        work.require(Right.CONFIGURE)
        await get_workflow_overview(work, workflow_id)


async def _render_manage_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, *, name: str = "",
    faults: list[str] | None = None, refusal: str = "",
) -> Response:  # fmt: skip
    async with site.open_work(access) as work:
        workflow = await get_workflow_overview(work, parse_path_id(request, "workflow_id"))
    page = WorkflowManagePage(
        workflow=workflow, max_counted=MAX_COUNTED_CLAIMS, name=name or workflow.name,
        faults=faults or (),
        refusal=refusal, result_code=request.get_parameter("done"),
    )  # fmt: skip
    return site.render_merchant_page(
        request, access, page, 422 if faults else 409 if refusal else 200
    )


@at_merchant
async def get_switch_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    async with site.open_work(access) as work:
        report = await preview_switch(work)
    return site.render_merchant_page(
        request, access, WorkflowSwitchPage(report, _compute_switch_revision(report))
    )


@takes_form_at_merchant
async def submit_switch(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    """Switch to workflows, which cannot be undone. The user must tick the checkbox, and the
    scenarios must not have changed since the preview."""
    is_ticked = "sure" in fields
    async with site.open_work(access) as work:
        report = await preview_switch(work)
        is_conflict = _compute_switch_revision(report) != fields["revision"]
        if is_ticked and not is_conflict:
            await switch_to_workflows(work)
            return site.redirect(request, access, "workflows", done="switched")
    page = WorkflowSwitchPage(report, _compute_switch_revision(report), is_conflict, not is_ticked)
    return site.render_merchant_page(request, access, page, 409 if is_conflict else 422)


def _compute_switch_revision(report: SwitchReport) -> str:
    """Return the revision of the scenarios and their workflows. Claims do not count: their number
    changes all the time."""
    shown = [
        (each.scenario_id, each.name, each.version_id, each.is_default) for each in report.scenarios
    ]
    return compute_revision(shown)


PAGES: RoutedPages = {
    "workflows": {"GET": get_workflows_page, "POST": submit_new_workflow},
    "workflow_manage": {"GET": get_management_page, "POST": submit_management},
    "switch": {"GET": get_switch_page, "POST": submit_switch},
}
