"""`dunwell switch MERCHANT`: switch a merchant from scenarios to workflows permanently (CONTRACT
7)."""

import click

from dunwell.accounts.merchants.account import Work
from dunwell.cases.rollout.scenarios.switch_to_workflows import SwitchReport, switch_to_workflows
from dunwell.interfaces.cli.options import data_dir_option
from dunwell.interfaces.cli.output import echo_json, render_table
from dunwell.interfaces.cli.work import find_merchant_by_key, run_use_case
from dunwell.platform.resources import Resources


@click.command("switch")
@data_dir_option
@click.option("--json", "is_json", is_flag=True, help="Print JSON.")
@click.argument("merchant")
def command(data_dir: str | None, is_json: bool, merchant: str) -> None:
    """Switch MERCHANT (its key) from scenarios to workflows. This cannot be undone.

    Each scenario becomes v1.0 of a workflow with the same name. Rules refer to the workflows, and
    active claims continue at their current step. The resulting workflows are printed.
    """

    async def change(work: Work, _: Resources) -> SwitchReport:
        return await switch_to_workflows(work)

    report = run_use_case(data_dir, "switch", find_merchant_by_key(merchant), change)
    if is_json:
        echo_json(report)
    else:
        click.echo(_render(report))


def _render(report: SwitchReport) -> str:
    if not report.scenarios:
        return f'"{report.key}" is switched to workflows. It had no scenarios.'
    heads = ("SCENARIO", "NAME", "WORKFLOW", "VERSION", "ACTIVE CLAIMS", "")
    rows = [
        (
            str(each.scenario_id),
            each.name,
            str(each.workflow_id),
            each.version,
            f"{each.active_claims:,}",
            "default" if each.is_default else "",
        )
        for each in report.scenarios
    ]
    table = render_table(heads, rows, right=("SCENARIO", "ACTIVE CLAIMS"))
    return f'"{report.key}" is switched to workflows.\n{table}'
