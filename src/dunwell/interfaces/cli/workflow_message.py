"""`dunwell workflow message`: show one message of a workflow as a debtor would receive it."""

from pathlib import Path
from typing import get_args

import click
import msgspec

from dunwell.accounts.merchants.configuration import Channel
from dunwell.cases.rollout.preview.preview_message import (
    MessagePreview,
    WantedMessage,
    prepare_message,
    render_preview,
)
from dunwell.cases.rollout.workflow_views import get_definition_view
from dunwell.contact.messages.letters.printer import LetterPrinter
from dunwell.core.workflows.definition import Definition
from dunwell.interfaces.cli.options import data_dir_option
from dunwell.interfaces.cli.work import find_merchant_by_key, open_work, run_query
from dunwell.platform.resources import Resources


@click.command("message")
@data_dir_option
@click.argument("merchant")
@click.argument("name")
@click.argument("template")
@click.argument("channel", type=click.Choice(get_args(Channel), case_sensitive=False))
@click.option("--version", help="v1.2, draft or latest. Default: latest.")
@click.option(
    "--language", help="A language of the workflow. Default: the claim's or the merchant's."
)
@click.option("--claim", type=int, help="The id of a claim. Default: a made-up claim.")
@click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path),
    help="Write the letter's PDF, or the e-mail's HTML, to this file.",
)  # fmt: skip
def command(  # noqa: PLR0913 - the words of a command line
    data_dir: str | None, merchant: str, name: str, template: str, channel: Channel,
    *, version: str | None, language: str | None, claim: int | None, out: Path | None,
) -> None:  # fmt: skip
    """Show TEMPLATE of workflow NAME in CHANNEL as a debtor would receive it. Nothing is sent."""
    wanted = WantedMessage(template, channel, language, claim)

    async def read(resources: Resources) -> MessagePreview:
        async with open_work(resources, find_merchant_by_key(merchant)) as work:
            view = await get_definition_view(work, name, version)
            definition = msgspec.convert(view.definition, Definition)
            prepared = await prepare_message(work, resources, definition, wanted)
        printer = LetterPrinter(1, fonts=resources.settings.fonts)
        try:
            return await render_preview(prepared, printer=printer)
        finally:
            await printer.close()

    preview = run_query(data_dir, "workflow", read)
    click.echo(_render(preview))
    if out is not None:
        click.echo(_write(preview, out))


def _render(preview: MessagePreview) -> str:
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


def _write(preview: MessagePreview, out: Path) -> str:
    content = preview.pdf or (preview.html.encode() if preview.html else None)
    if content is None:
        return "An SMS has no file; --out was not used."
    out.write_bytes(content)
    return f"Written: {out}"
