"""`dunwell workflow deactivate|activate|rename|delete`: what is done to a workflow as a whole."""

from collections.abc import Awaitable, Callable
from typing import TypeVar
from uuid import UUID

import click

from dunwell.accounts.merchants.account import Work
from dunwell.cases.rollout.delete_workflow import delete_workflow
from dunwell.cases.rollout.store import load_rule_sets
from dunwell.cases.rollout.uses import describe_rules
from dunwell.core.workflows.change_workflow import (
    activate_workflow,
    check_switched,
    deactivate_workflow,
    find_workflow,
    rename_workflow,
)
from dunwell.interfaces.cli.options import data_dir_option
from dunwell.interfaces.cli.output import confirm
from dunwell.interfaces.cli.work import merchant_of_key, run_change
from dunwell.platform.resources import Resources

_Answer = TypeVar("_Answer")


@click.command("deactivate")
@data_dir_option
@click.argument("merchant")
@click.argument("name")
def deactivate(data_dir: str | None, merchant: str, name: str) -> None:
    """Keep new claims from workflow NAME: rules skip it. Claims on it run on."""

    async def change(work: Work, workflow_id: UUID) -> tuple[bool, list[str]]:
        is_new = await deactivate_workflow(work, workflow_id)
        rule_sets = await load_rule_sets(work.tx, work.merchant_id)
        return is_new, list(describe_rules(rule_sets, workflow_id))

    is_new, pointing = _run(data_dir, merchant, name, change)
    click.echo(f'"{name}" {"is deactivated" if is_new else "was deactivated already"}')
    for line in pointing:
        click.echo(f"  skipped from now on: {line}")


@click.command("activate")
@data_dir_option
@click.argument("merchant")
@click.argument("name")
def activate(data_dir: str | None, merchant: str, name: str) -> None:
    """Let claims be assigned to workflow NAME again."""
    is_new = _run(data_dir, merchant, name, activate_workflow)
    click.echo(f'"{name}" {"is active again" if is_new else "was active already"}')


@click.command("rename")
@data_dir_option
@click.argument("merchant")
@click.argument("name")
@click.argument("new_name")
def rename(data_dir: str | None, merchant: str, name: str, new_name: str) -> None:
    """Call workflow NAME by NEW_NAME; rules and claims follow it. Change the merchant file too."""

    async def change(work: Work, workflow_id: UUID) -> None:
        await rename_workflow(work, workflow_id, new_name)

    _run(data_dir, merchant, name, change)
    click.echo(f'"{name}" is called "{new_name}" now')


@click.command("delete")
@data_dir_option
@click.argument("merchant")
@click.argument("name")
@click.option("--yes", "is_sure", is_flag=True, help="Do not ask.")
def delete(data_dir: str | None, merchant: str, name: str, is_sure: bool) -> None:
    """Delete workflow NAME, if no claim, rule or scenario uses it; its versions stay in history."""
    confirm(f'Delete "{name}"?', is_sure=is_sure)
    _run(data_dir, merchant, name, delete_workflow)
    click.echo(f'"{name}" is deleted')


def _run(
    data_dir: str | None,
    merchant: str,
    name: str,
    change: Callable[[Work, UUID], Awaitable[_Answer]],
) -> _Answer:
    """One use case on the workflow of this name."""

    async def find_and_change(work: Work, _: Resources) -> _Answer:
        check_switched(work.merchant)
        workflow = await find_workflow(work.tx, work.merchant_id, name)
        return await change(work, workflow.workflow_id)

    return run_change(data_dir, "workflow", merchant_of_key(merchant), find_and_change)
