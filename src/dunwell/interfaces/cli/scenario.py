"""`dunwell scenario`: the scenarios of a merchant that is not switched to workflows."""

from typing import TextIO

import click

from dunwell.accounts.merchants.account import Work
from dunwell.cases.rollout.scenarios.save_scenario import (
    SavedScenario,
    ScenarioView,
    get_scenario,
    list_scenarios,
    save_scenario,
)
from dunwell.core.workflows.checking import parse_definition
from dunwell.interfaces.cli.options import data_dir_option
from dunwell.interfaces.cli.output import echo_json, render_table
from dunwell.interfaces.cli.work import find_merchant_by_key, run_use_case
from dunwell.interfaces.cli.workflow_checking import read_definition_file, render_faults
from dunwell.platform.errors import ValidationError
from dunwell.platform.resources import Resources
from dunwell.platform.text.yaml_document import render_yaml

_JSON = click.option("--json", "is_json", is_flag=True, help="Print JSON.")


@click.group("scenario", no_args_is_help=False)
def command() -> None:
    """Show, create and edit the scenarios of a merchant. See also dunwell switch."""


@command.command("list")
@data_dir_option
@_JSON
@click.argument("merchant")
def list_command(data_dir: str | None, is_json: bool, merchant: str) -> None:
    """List the scenarios of MERCHANT (its key)."""

    async def query(work: Work, _: Resources) -> list[ScenarioView]:
        return await list_scenarios(work)

    scenarios = run_use_case(data_dir, "scenario", find_merchant_by_key(merchant), query)
    if is_json:
        echo_json(scenarios)
    elif not scenarios:
        click.echo(f"{merchant} has no scenarios.")
    else:
        click.echo(_render_list(scenarios))


def _render_list(scenarios: list[ScenarioView]) -> str:
    heads = ("ID", "NAME", "ASSIGNED", "ACTIVE CLAIMS", "WORKFLOW")
    rows = [
        (
            str(each.id),
            each.name,
            _describe_use(each),
            f"{each.active_claims:,}",
            str(each.workflow_id),
        )
        for each in scenarios
    ]
    return render_table(heads, rows, right=("ID", "ACTIVE CLAIMS"))


def _describe_use(scenario: ScenarioView) -> str:
    use = "yes" if scenario.is_active else "deactivated"
    return f"{use}, default" if scenario.is_default else use


@command.command("show")
@data_dir_option
@_JSON
@click.argument("merchant")
@click.argument("name")
def show(data_dir: str | None, is_json: bool, merchant: str, name: str) -> None:
    """Print the scenario NAME in the format that `dunwell scenario save` reads."""

    async def query(work: Work, _: Resources) -> ScenarioView:
        return await get_scenario(work, name)

    view = run_use_case(data_dir, "scenario", find_merchant_by_key(merchant), query)
    if is_json:
        echo_json(view)
        return
    lines = [
        f'Scenario {view.id} "{view.name}"',
        *view.description.splitlines(),
        f"Assigned: {_describe_use(view)}. Active claims: {view.active_claims:,}",
        f"Its workflow after the switch: {view.workflow_id}",
    ]
    comment = "\n".join(f"# {line}".rstrip() for line in lines)
    click.echo(f"{comment}\n\n{render_yaml(view.definition)}", nl=False)


@command.command("save")
@data_dir_option
@_JSON
@click.option("--description", help="A short description.")
@click.argument("merchant")
@click.argument("name")
@click.argument("file", type=click.File(encoding="utf-8"))
def save(
    data_dir: str | None, merchant: str, name: str, file: TextIO, *, description: str | None,
    is_json: bool,
) -> None:  # fmt: skip
    """Create or edit the scenario NAME from FILE (YAML or JSON; - reads standard input).

    An edit takes effect at once: active claims follow it from their next step. The effect on claims
    at a changed step is printed.
    """
    definition_file = read_definition_file(file)

    async def change(work: Work, _: Resources) -> SavedScenario:
        return await save_scenario(
            work, name, parse_definition(definition_file.document), description
        )

    try:
        saved = run_use_case(data_dir, "scenario", find_merchant_by_key(merchant), change)
    except ValidationError as refusal:
        click.echo("\n".join(render_faults(definition_file, refusal.faults)), err=True)
        raise click.exceptions.Exit(1) from refusal
    if is_json:
        echo_json(saved)
        return
    result = "created" if saved.is_new else "changed" if saved.is_changed else "is unchanged"
    click.echo(f'scenario {saved.scenario_id} "{name}" {result}')
    for line in saved.effects:
        click.echo(f"  {line}")
    for line in saved.warnings:
        click.echo(f"warning: {line}", err=True)
