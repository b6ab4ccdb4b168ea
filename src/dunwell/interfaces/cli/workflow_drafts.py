"""`dunwell workflow draft|publish|discard`, and the commands that change a whole workflow:
deactivate, activate, rename and delete."""

from collections.abc import Awaitable, Callable
from typing import TextIO, TypeVar
from uuid import UUID

import click

from dunwell.accounts.merchants.account import Work
from dunwell.cases.rollout.delete_workflow import delete_workflow, discard_draft_or_workflow
from dunwell.cases.rollout.publish_workflow import (
    PublicationPlan,
    describe_reach,
    plan_publication,
    publish_workflow,
)
from dunwell.cases.rollout.store import load_rule_sets
from dunwell.cases.rollout.uses import describe_rules
from dunwell.cases.rollout.workflow_views import DRAFT, DefinitionView, get_definition_view
from dunwell.core.workflows.change_workflow import (
    activate_workflow,
    check_uses_workflows,
    deactivate_workflow,
    get_workflow_by_name,
    rename_workflow,
)
from dunwell.core.workflows.checking import parse_definition
from dunwell.core.workflows.document import DefinitionFile
from dunwell.core.workflows.drafts.edit_draft import create_draft, save_draft
from dunwell.core.workflows.versions.versions import Version, VersionVerdict
from dunwell.interfaces.cli.options import data_dir_option
from dunwell.interfaces.cli.output import confirm, echo_json
from dunwell.interfaces.cli.work import find_merchant_by_key, run_use_case
from dunwell.interfaces.cli.workflow_checking import read_definition_file, render_faults
from dunwell.interfaces.cli.workflow_reading import render_differences, render_view
from dunwell.platform.errors import ValidationError
from dunwell.platform.resources import Resources

_YES = click.option("--yes", "is_sure", is_flag=True, help="Do not ask for confirmation.")


@click.command("draft")
@data_dir_option
@click.argument("merchant")
@click.argument("name")
@click.argument("file", required=False, type=click.File(encoding="utf-8"))
@click.option("--expect", type=click.UUID, help="Save only if this is still the newest version.")
def draft(
    data_dir: str | None, merchant: str, name: str, file: TextIO | None, expect: UUID | None
) -> None:
    """Save FILE (YAML or JSON; - reads standard input) as the draft of workflow NAME.

    Without FILE, create a draft from the latest version and print it. A draft with faults is saved,
    and its faults are listed. It can only be published after they are corrected.
    """
    if file is None:
        click.echo(render_view(_create_draft(data_dir, merchant, name)), nl=False)
        return
    definition_file = read_definition_file(file)
    try:
        definition = parse_definition(definition_file.document)
    except ValidationError as refusal:
        click.echo("\n".join(render_faults(definition_file, refusal.faults)), err=True)
        raise click.exceptions.Exit(1) from refusal
    expected_id = expect or definition_file.version_id

    async def change(work: Work, _: Resources) -> PublicationPlan | None:
        saved = await save_draft(work, name, definition, expected_id=expected_id)
        return await plan_publication(work, saved.workflow_id) if saved.is_draft else None

    plan = run_use_case(data_dir, "workflow", find_merchant_by_key(merchant), change)
    if plan is None:
        click.echo(
            f'"{name}" equals the published version: there is no draft, and nothing to publish'
        )
        return
    click.echo(f'draft of "{name}" saved ({plan.draft_id})')
    click.echo("\n".join(_describe_plan(plan)))
    _print_faults(definition_file, plan)
    _print_warnings(plan)


def _create_draft(data_dir: str | None, merchant: str, name: str) -> DefinitionView:
    async def change(work: Work, _: Resources) -> DefinitionView:
        check_uses_workflows(work.merchant)
        workflow = await get_workflow_by_name(work.tx, work.merchant_id, name)
        await create_draft(work, workflow.workflow_id)
        return await get_definition_view(work, name, DRAFT)

    return run_use_case(data_dir, "workflow", find_merchant_by_key(merchant), change)


def _print_faults(definition_file: DefinitionFile, plan: PublicationPlan) -> None:
    if plan.faults:
        click.echo("It cannot be published yet:", err=True)
        click.echo("\n".join(render_faults(definition_file, plan.faults)), err=True)


def _print_warnings(plan: PublicationPlan) -> None:
    for warning in plan.warnings:
        click.echo(f"warning: {warning.message}", err=True)


def _describe_plan(plan: PublicationPlan) -> list[str]:
    if plan.before is None:
        return [f"It would be {plan.after}, the first version."]
    if plan.verdict is VersionVerdict.NONE:
        return [f"It does not differ from {plan.before}."]
    return [
        f"{plan.before} -> {plan.after} ({plan.verdict.lower()})",
        *(f"  {line}" for line in render_differences(plan.differences, plan.text_changes)),
        f"{describe_reach(plan)}.",
    ]


@click.command("publish")
@data_dir_option
@click.argument("merchant")
@click.argument("name")
@click.option("--comment", help="The reason; stored with the version.")
@_YES
@click.option("--json", "is_json", is_flag=True, help="Print JSON; needs --yes.")
def publish(
    data_dir: str | None, merchant: str, name: str, comment: str | None, *, is_sure: bool,
    is_json: bool,
) -> None:  # fmt: skip
    """Publish the draft of workflow NAME, after showing what changes and which claims it
    affects."""
    workflow_id, plan = _plan_publication(data_dir, merchant, name)
    if not is_json:
        click.echo(f'"{name}"')
        click.echo("\n".join(_describe_plan(plan)))
    if plan.faults:
        raise ValidationError(plan.faults)
    if not is_json:
        _print_warnings(plan)
    if plan.verdict is not VersionVerdict.NONE:
        confirm(f"Publish it as {plan.after}?", is_sure=is_sure)

    async def change(work: Work, _: Resources) -> Version:
        return await publish_workflow(work, workflow_id, comment, expected_id=plan.draft_id)

    version = run_use_case(data_dir, "workflow", find_merchant_by_key(merchant), change)
    if not is_json:
        click.echo(f"published as {version.name} ({version.version_id})")
        return
    echo_json(
        {
            "workflowId": workflow_id,
            "version": version.name,
            "versionId": version.version_id,
            "verdict": plan.verdict,
            "differences": plan.differences,
            "claimsReached": plan.reached,
            "claimsStaying": plan.staying,
            "warnings": [str(each.message) for each in plan.warnings],
        }
    )


def _plan_publication(
    data_dir: str | None, merchant: str, name: str
) -> tuple[UUID, PublicationPlan]:
    async def change(work: Work, _: Resources) -> tuple[UUID, PublicationPlan]:
        check_uses_workflows(work.merchant)
        workflow = await get_workflow_by_name(work.tx, work.merchant_id, name)
        return workflow.workflow_id, await plan_publication(work, workflow.workflow_id)

    return run_use_case(data_dir, "workflow", find_merchant_by_key(merchant), change)


@click.command("discard")
@data_dir_option
@click.argument("merchant")
@click.argument("name")
@_YES
def discard(data_dir: str | None, merchant: str, name: str, is_sure: bool) -> None:
    """Discard the draft of workflow NAME. A workflow that was never published is deleted."""
    confirm(f'Discard the draft of "{name}"?', is_sure=is_sure)

    async def change(work: Work, _: Resources) -> bool:
        check_uses_workflows(work.merchant)
        workflow = await get_workflow_by_name(work.tx, work.merchant_id, name)
        return await discard_draft_or_workflow(work, workflow.workflow_id)

    is_deleted = run_use_case(data_dir, "workflow", find_merchant_by_key(merchant), change)
    deleted_text = ", and the workflow with it: it was never published" if is_deleted else ""
    click.echo(f'draft of "{name}" discarded{deleted_text}')


_Result = TypeVar("_Result")


@click.command("deactivate")
@data_dir_option
@click.argument("merchant")
@click.argument("name")
def deactivate(data_dir: str | None, merchant: str, name: str) -> None:
    """Deactivate workflow NAME: assignment rules skip it. Its active claims continue."""

    async def change(work: Work, workflow_id: UUID) -> tuple[bool, list[str]]:
        is_changed = await deactivate_workflow(work, workflow_id)
        rule_sets = await load_rule_sets(work.tx, work.merchant_id)
        return is_changed, list(describe_rules(rule_sets, workflow_id))

    is_changed, rules = _change_workflow(data_dir, merchant, name, change)
    click.echo(f'"{name}" {"is deactivated" if is_changed else "was already deactivated"}')
    for line in rules:
        click.echo(f"  skipped from now on: {line}")


@click.command("activate")
@data_dir_option
@click.argument("merchant")
@click.argument("name")
def activate(data_dir: str | None, merchant: str, name: str) -> None:
    """Activate workflow NAME again, so that claims can be assigned to it."""
    is_changed = _change_workflow(data_dir, merchant, name, activate_workflow)
    click.echo(f'"{name}" {"is active again" if is_changed else "was already active"}')


@click.command("rename")
@data_dir_option
@click.argument("merchant")
@click.argument("name")
@click.argument("new_name")
def rename(data_dir: str | None, merchant: str, name: str, new_name: str) -> None:
    """Rename workflow NAME to NEW_NAME. Rules and claims follow. Change the merchant file too."""

    async def change(work: Work, workflow_id: UUID) -> None:
        await rename_workflow(work, workflow_id, new_name)

    _change_workflow(data_dir, merchant, name, change)
    click.echo(f'"{name}" was renamed to "{new_name}"')


@click.command("delete")
@data_dir_option
@click.argument("merchant")
@click.argument("name")
@click.option("--yes", "is_sure", is_flag=True, help="Do not ask for confirmation.")
def delete(data_dir: str | None, merchant: str, name: str, is_sure: bool) -> None:
    """Delete workflow NAME if no claim, rule or scenario uses it. Its versions stay in the
    history."""
    confirm(f'Delete "{name}"?', is_sure=is_sure)
    _change_workflow(data_dir, merchant, name, delete_workflow)
    click.echo(f'"{name}" is deleted')


def _change_workflow(
    data_dir: str | None,
    merchant: str,
    name: str,
    change: Callable[[Work, UUID], Awaitable[_Result]],
) -> _Result:
    """Run one use case on the workflow with this name."""

    async def find_and_change(work: Work, _: Resources) -> _Result:
        check_uses_workflows(work.merchant)
        workflow = await get_workflow_by_name(work.tx, work.merchant_id, name)
        return await change(work, workflow.workflow_id)

    return run_use_case(data_dir, "workflow", find_merchant_by_key(merchant), find_and_change)
