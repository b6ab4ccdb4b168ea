"""`dunwell workflow preview`: what publishing a draft would do, before it is done."""

import csv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from dunwell.cases.rollout.preview.costs import Costs
from dunwell.cases.rollout.preview.effects import (
    DEFAULT_DAYS,
    MOST_DAYS,
    Asked,
    ClaimPreview,
    NextContact,
    Sink,
)
from dunwell.cases.rollout.preview.foresee_costs import foresee_costs_alone, prepare_costs
from dunwell.cases.rollout.preview.preview_draft import Preview, preview_draft, view_preview
from dunwell.core.workflows.change_workflow import check_switched, find_workflow
from dunwell.interfaces.cli.options import data_dir_option
from dunwell.interfaces.cli.output import echo_json, show_progress
from dunwell.interfaces.cli.work import merchant_of_key, open_reading_work, run_reading
from dunwell.interfaces.cli.workflow_preview_text import render_preview
from dunwell.platform.resources import Resources
from dunwell.platform.text.texts import say_count

_LISTED = 10
_CONTACT_HEADS = ("at", "channel", "step", "stepName")
_HEADS = (
    "claimId", "referenceNumber", "kind", "aspects",
    *(f"before.{head}" for head in _CONTACT_HEADS), *(f"after.{head}" for head in _CONTACT_HEADS),
)  # fmt: skip


@click.command("preview")
@data_dir_option
@click.argument("merchant")
@click.argument("name")
@click.option(
    "--days", type=click.IntRange(0, MOST_DAYS), default=DEFAULT_DAYS, show_default=True,
    help="How far the draft is played forward; 0: next contacts alone.",
)  # fmt: skip
@click.option(
    "--list", "list_to", type=click.Path(dir_okay=False, path_type=Path),
    help="Write every claim the draft reaches to this file, as CSV.",
)  # fmt: skip
@click.option("--json", "is_json", is_flag=True, help="Answer as JSON.")
def command(
    data_dir: str | None, merchant: str, name: str, days: int, list_to: Path | None, *,
    is_json: bool,
) -> None:  # fmt: skip
    """Show what publishing the draft of workflow NAME would do to the claims that run on it.

    Nothing is changed. It is assumed that each message is accepted at once and nobody pays.
    """

    async def read(resources: Resources) -> tuple[Preview, Costs | None]:
        async with open_reading_work(resources, merchant_of_key(merchant)) as work:
            check_switched(work.merchant)
            workflow = await find_workflow(work.tx, work.merchant_id, name)
            asked = Asked(days, _LISTED, progress, sink, costs=True)
            preview = await preview_draft(work, resources.keys, workflow.workflow_id, asked)
            prepared = await prepare_costs(work, resources, preview)
        if prepared is None:
            return preview, None
        return preview, await foresee_costs_alone(prepared, resources.settings.fonts)

    with _open_list(list_to) as sink, show_progress() as progress:
        preview, costs = run_reading(data_dir, "workflow", read)
    if is_json:
        echo_json(view_preview(name, preview, costs))
    else:
        click.echo(render_preview(name, preview, costs))
    if list_to is not None:
        click.echo(f"{say_count(preview.effects.claims, 'claim')} written to {list_to}", err=True)


@contextmanager
def _open_list(path: Path | None) -> Iterator[Sink | None]:
    if path is None:
        yield None
        return
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(_HEADS)

        def write(claim: ClaimPreview) -> None:
            writer.writerow(
                [
                    claim.claim_id, claim.reference_number, claim.kind.value,
                    " ".join(claim.aspects), *_cells(claim.before), *_cells(claim.after),
                ]
            )  # fmt: skip

        yield write


def _cells(contact: NextContact | None) -> list[str | int]:
    if contact is None:
        return [""] * len(_CONTACT_HEADS)
    at = contact.at.strftime("%Y-%m-%dT%H:%M:%SZ")
    return [at, contact.channel, contact.step_id, contact.name]
