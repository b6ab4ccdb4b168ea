"""`dunwell workflow list`, `show`, `diff` and `message`: list workflows, print a version, compare
two versions, and show one message as a debtor would receive it."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path

import click
import msgspec

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.configuration import CHANNELS, Channel
from dunwell.cases.rollout.preview.preview_message import (
    MessagePreview,
    WantedMessage,
    prepare_message,
    render_preview,
)
from dunwell.cases.rollout.workflow_views import (
    DRAFT,
    LATEST,
    DefinitionView,
    VersionComparisonView,
    WorkflowView,
    compare_versions,
    get_definition_view,
    list_workflows,
)
from dunwell.contact.messages.letters.printer import LetterPrinter
from dunwell.core.workflows.definition import Definition
from dunwell.core.workflows.versions.versions import VersionVerdict
from dunwell.interfaces.cli.options import data_dir_option
from dunwell.interfaces.cli.output import echo_json, render_table
from dunwell.interfaces.cli.work import find_merchant_by_key, open_work, run_query, run_use_case
from dunwell.platform.resources import Resources
from dunwell.platform.text.yaml_document import render_yaml


@click.command("list")
@data_dir_option
@click.argument("merchant")
@click.option("--json", "is_json", is_flag=True, help="Print JSON.")
def list_workflows_command(data_dir: str | None, merchant: str, is_json: bool) -> None:
    """List the workflows of MERCHANT (its key)."""

    async def query(work: Work, _: Resources) -> list[WorkflowView]:
        return await list_workflows(work)

    workflows = run_use_case(data_dir, "workflow", find_merchant_by_key(merchant), query)
    if is_json:
        echo_json(workflows)
    elif not workflows:
        click.echo(f"{merchant} has no workflows.")
    else:
        click.echo(_render_list(workflows))


def _render_list(workflows: list[WorkflowView]) -> str:
    heads = ("NAME", "VERSION", "DRAFT", "ASSIGNED", "ACTIVE CLAIMS")
    rows = [
        (
            each.name,
            each.version or "-",
            "-" if each.draft_id is None else "yes",
            "yes" if each.assignment_enabled else "deactivated",
            f"{each.active_claims:,}",
        )
        for each in workflows
    ]
    return render_table(heads, rows, right=("ACTIVE CLAIMS",))


@click.command("show")
@data_dir_option
@click.argument("merchant")
@click.argument("name")
@click.argument("version", required=False)
@click.option("--json", "is_json", is_flag=True, help="Print JSON.")
def show(
    data_dir: str | None, merchant: str, name: str, version: str | None, is_json: bool
) -> None:
    """Print VERSION (v1.2, draft, latest) of workflow NAME in the format for `workflow draft`.

    Without VERSION, print the latest published one, or the draft if none is published yet.
    """

    async def query(work: Work, _: Resources) -> DefinitionView:
        return await get_definition_view(work, name, version)

    view = run_use_case(data_dir, "workflow", find_merchant_by_key(merchant), query)
    if is_json:
        echo_json(view)
    else:
        click.echo(render_view(view), nl=False)


def render_view(view: DefinitionView) -> str:
    """Render the definition as YAML, below comments with the workflow's other data."""
    state = "" if view.assignment_enabled else ", deactivated"
    heads = ("VERSION", "PUBLISHED", "ACTIVE CLAIMS", "COMMENT")
    rows = [
        (each.version, _render_at(each.published_at), f"{each.active_claims:,}", each.comment or "")
        for each in view.versions
    ]
    lines = [
        f'Workflow "{view.name}" ({view.workflow_id}){state}',
        f"Version {view.version} ({view.version_id})",
        "",
        *render_table(heads, rows, right=("ACTIVE CLAIMS",)).splitlines(),
    ]
    comment = "\n".join(
        f"# {line}".rstrip() for text in lines for line in text.splitlines() or [""]
    )
    return f"{comment}\n\n{render_yaml(view.definition)}"


def _render_at(instant: datetime | None) -> str:
    return "-" if instant is None else instant.strftime("%Y-%m-%d %H:%M UTC")


@click.command("diff")
@data_dir_option
@click.argument("merchant")
@click.argument("name")
@click.argument("before", default=LATEST)
@click.argument("after", default=DRAFT)
@click.option("--json", "is_json", is_flag=True, help="Print JSON.")
def diff(
    data_dir: str | None, merchant: str, name: str, before: str, after: str, *, is_json: bool
) -> None:
    """Show the differences between BEFORE (the latest) and AFTER (the draft) in workflow NAME."""

    async def query(work: Work, _: Resources) -> VersionComparisonView:
        return await compare_versions(work, name, before, after)

    comparison = run_use_case(data_dir, "workflow", find_merchant_by_key(merchant), query)
    if is_json:
        echo_json(comparison)
        return
    verdict = {
        VersionVerdict.NONE: "no differences",
        VersionVerdict.MINOR: "minor: only the contents of single actions differ",
        VersionVerdict.MAJOR: "major: steps, their order, kinds, waits, guards or settings differ",
    }[comparison.verdict]
    click.echo(f"{comparison.before} -> {comparison.after}  {verdict}")
    for line in render_differences(comparison.differences, comparison.text_changes):
        click.echo(f"  {line}")


def render_differences(
    differences: list[str], text_changes: Mapping[str, list[str]]
) -> Iterator[str]:
    """Return one line for each difference, followed by the changes inside a changed text."""
    for line in differences:
        yield line
        text_name = line.removesuffix(" changed")
        yield from (f"    {changed}".rstrip() for changed in text_changes.get(text_name, []))


@click.command("message")
@data_dir_option
@click.argument("merchant")
@click.argument("name")
@click.argument("template")
@click.argument("channel", type=click.Choice(CHANNELS, case_sensitive=False))
@click.option("--version", help="v1.2, draft or latest. Default: latest.")
@click.option(
    "--language", help="A language of the workflow. Default: the claim's or the merchant's."
)
@click.option("--claim", type=int, help="The id of a claim. Default: sample data.")
@click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path),
    help="Write the letter's PDF, or the e-mail's HTML, to this file.",
)  # fmt: skip
def message(  # noqa: PLR0913 - one parameter for each option
    data_dir: str | None, merchant: str, name: str, template: str, channel: Channel,
    *, version: str | None, language: str | None, claim: int | None, out: Path | None,
) -> None:  # fmt: skip
    """Show TEMPLATE of workflow NAME in CHANNEL as a debtor would receive it. Nothing is sent."""
    wanted = WantedMessage(template, channel, language, claim)

    async def query(resources: Resources) -> MessagePreview:
        async with open_work(resources, find_merchant_by_key(merchant)) as work:
            view = await get_definition_view(work, name, version)
            definition = msgspec.convert(view.definition, Definition)
            prepared = await prepare_message(work, resources, definition, wanted)
        printer = LetterPrinter(1, fonts=resources.settings.fonts)
        try:
            return await render_preview(prepared, printer=printer)
        finally:
            await printer.close()

    preview = run_query(data_dir, "workflow", query)
    click.echo(_render_message(preview))
    if out is not None:
        click.echo(_write_message(preview, out))


def _render_message(preview: MessagePreview) -> str:
    head = [
        f"To:       {', '.join(preview.recipient.splitlines())}",
        f"Language: {preview.language}",
    ]
    if preview.subject is not None:
        head.append(f"Subject:  {preview.subject}")
    if preview.parts is not None:
        parts = preview.parts
        counted = "1 part" if parts.count == 1 else f"{parts.count} parts"
        head.append(f"Costs:    {counted} ({parts.length} characters of {parts.alphabet})")
    if preview.cost is not None:
        head.append(f"Price:    {preview.cost.normalize():f} cents")
    return "\n".join([*head, "", preview.text])


def _write_message(preview: MessagePreview, out: Path) -> str:
    content = preview.pdf or (preview.html.encode() if preview.html else None)
    if content is None:
        return "An SMS has no file; --out was not used."
    out.write_bytes(content)
    return f"Written: {out}"
