"""Publishing refuses a message that would be too large, in every way."""

from pathlib import Path
from typing import Any

import pytest

from dunwell.cases.rollout.publish_workflow import publish_workflow
from dunwell.core.workflows.drafts.edit_draft import save_draft
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import ValidationError
from dunwell.platform.resources import Resources
from dunwell.platform.text.yaml_document import render_yaml
from tests.support.command_line import CommandLine
from tests.support.definitions import a_definition, a_document
from tests.support.harness import a_harness
from tests.usecases.test_apply import Applying

_SNIPPET = {"s": {"de": "word " * 3_980, "en": "word " * 3_980}}
_USES = "{{snippet.s}}\n" * 1_000


def an_email(body: str) -> dict[str, Any]:
    says = (
        f"{{{{ claim.referenceNumber }}}} {{{{ outstanding }}}}\n\n{{{{ landing.url }}}}\n\n{body}"
    )
    return {
        "EMAIL": {"subject": {"de": "S"}, "body": {"de": says}},
        "SMS": {"body": {"de": "{{ merchant.name }} {{ outstanding }} {{ landing.url }}"}},
    }


async def test_a_draft_with_a_message_that_is_too_large_is_saved_and_not_published(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock)
    definition = a_definition(templates={"first": an_email(_USES)}, snippets=_SNIPPET)
    async with harness.work() as work:
        saved = await save_draft(work, "Standard", definition)

        with pytest.raises(ValidationError) as refusal:
            await publish_workflow(work, saved.workflow_id)

    codes = {fault.path: fault.code for fault in refusal.value.faults}
    assert codes["/templates/first/EMAIL/body/de"] == "MESSAGE_TOO_LONG"


async def test_a_merchant_file_with_a_message_that_is_too_large_is_refused(
    resources: Resources, tmp_path: Path
) -> None:
    applying = Applying(resources, tmp_path)
    applying.definition["snippets"] = _SNIPPET
    applying.definition["templates"]["reminder"]["EMAIL"]["body"]["en"] += _USES
    before = await applying.rows()

    with pytest.raises(ValidationError) as refusal:
        await applying.apply()

    place = "/workflows/0/definition/templates/reminder/EMAIL/body/en"
    assert (place, "MESSAGE_TOO_LONG") in [(each.path, each.code) for each in refusal.value.faults]
    assert await applying.rows() == before


def test_the_command_line_reports_a_message_that_is_too_large_with_its_line(
    dunwell: CommandLine, tmp_path: Path
) -> None:
    path = tmp_path / "definition.yaml"
    path.write_text(
        render_yaml(a_document(templates={"first": an_email(_USES)}, snippets=_SNIPPET))
    )
    done = dunwell.run("workflow", "check", str(path))
    assert done.returncode == 1, done.stderr
    assert "Including its snippets, the template has 19,901," in done.stdout
