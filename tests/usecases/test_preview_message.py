"""Previews of messages, in each channel, for sample claims and stored claims."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dunwell.cases.rollout.preview.preview_message import (
    MessagePreview,
    WantedMessage,
    prepare_message,
    render_preview,
)
from dunwell.contact.messages.claim_links import CODE_MASK, TOKEN_MASK
from dunwell.contact.messages.letters.printer import LetterPrinter
from dunwell.core.workflows.definition import Definition, Template
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import NotFound, ValidationError
from dunwell.platform.resources import Resources
from tests.support.command_line import CommandLine
from tests.support.definitions import a_definition
from tests.support.harness import Harness, a_harness
from tests.support.letters import PrintedLetter

SAYS = "{{ debtor.name }}: {{ outstanding }} an {{ merchant.name }}. {{ landing.url }}"
TEXTS = {
    "EMAIL": {"subject": {"de": "{{ claim.referenceNumber }}"}, "body": {"de": SAYS}},
    "SMS": {"body": {"de": SAYS}},
    "LETTER": {"subject": {"de": "Rechnung"}, "body": {"de": SAYS}},
}


@pytest.fixture
async def printer() -> AsyncIterator[LetterPrinter]:
    printer = LetterPrinter()
    yield printer
    await printer.close()


@pytest.fixture
async def harness(resources: Resources, clock: MovableClock) -> Harness:
    return await a_harness(resources, clock, a_definition())


def the_definition() -> Definition:
    first = {"first": msgspec.convert(TEXTS, Template)}
    return msgspec.structs.replace(a_definition(), templates=first)


async def show(harness: Harness, printer: LetterPrinter, wanted: WantedMessage) -> MessagePreview:
    async with harness.work() as work:
        prepared = await prepare_message(work, harness.resources, the_definition(), wanted)
    return await render_preview(prepared, printer=printer)


async def test_an_email_is_previewed_for_a_sample_claim(
    harness: Harness, printer: LetterPrinter
) -> None:
    preview = await show(harness, printer, WantedMessage("first", "EMAIL"))
    assert (preview.recipient, preview.subject) == ("erika@example.org", "INV-2026-0815")
    assert preview.text.startswith("Nordwind\n\nZu zahlender Betrag: 104,90\u00a0€\n")
    assert "\n\nErika Mustermann: 104,90\u00a0€ an " in preview.text
    assert TOKEN_MASK in preview.text
    assert preview.html is not None
    assert "104,90\u00a0€" in preview.html


async def test_the_pay_by_date_is_that_of_the_first_step_with_the_text(
    harness: Harness, printer: LetterPrinter
) -> None:
    """A template that no step uses gets a sample date. If the workflow has no such date, it is left
    out."""
    body = {"de": f"Bitte bis {{{{ payBy }}}}. {SAYS}"}
    texts = {"SMS": {"body": body}}
    text: dict[str, Any] = {"kind": "COMMUNICATION", "channel": "SMS", "template": "first"}
    fee: dict[str, Any] = {"kind": "FEE", "type": "DUNNING_FEE", "value": "250"}
    [claim_id] = await harness.create(mobileNumber="+4915112345678")

    async def show_with(days: int, template: str, claim: int | None = None) -> str:
        kinds: list[dict[str, Any]] = [text, {"kind": "WAIT", "days": days}, fee]
        definition = a_definition(
            templates={"first": texts, "other": texts},
            steps=[{"id": n, "name": f"Step {n}", **kind} for n, kind in enumerate(kinds, 1)],
        )
        wanted = WantedMessage(template, "SMS", claim_id=claim)
        async with harness.work() as work:
            prepared = await prepare_message(work, harness.resources, definition, wanted)
        preview = await render_preview(prepared, printer=printer)
        return preview.text.partition(". ")[0] + "." + preview.text.partition(". ")[2][:6]

    assert (await show_with(14, "first")).startswith("Bitte bis 10.")
    assert (await show_with(14, "first", claim_id)).startswith("Bitte bis 10.")
    assert (await show_with(10, "first", claim_id)).startswith("Bitte bis 8.")
    assert "Bitte" not in await show_with(5, "first", claim_id)
    assert (await show_with(5, "other")).startswith("Bitte bis 15.")


async def test_the_preview_of_an_sms_has_its_cost(harness: Harness, printer: LetterPrinter) -> None:
    preview = await show(harness, printer, WantedMessage("first", "SMS"))
    assert preview.parts is not None
    assert (preview.parts.alphabet, preview.parts.count) == ("GSM-7", 1)
    assert preview.recipient == "+4915112345678"


async def test_a_previewed_letter_has_a_link_without_function(
    harness: Harness, printer: LetterPrinter, tmp_path: Path
) -> None:
    preview = await show(harness, printer, WantedMessage("first", "LETTER"))
    assert preview.pdf is not None
    (tmp_path / "letter.pdf").write_bytes(preview.pdf)
    text = PrintedLetter(tmp_path / "letter.pdf").text()
    assert "Erika Mustermann" in text
    assert CODE_MASK not in text
    assert await harness.rows("SELECT FROM debtor_links WHERE merchant_id = $1") == []


async def test_a_stored_claim_is_previewed_in_its_present_state(
    harness: Harness, printer: LetterPrinter
) -> None:
    [claim_id] = await harness.create("A-1")
    preview = await show(harness, printer, WantedMessage("first", "EMAIL", claim_id=claim_id))
    assert preview.subject == "A-1"
    assert await harness.rows("SELECT FROM communications WHERE merchant_id = $1") == []


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (WantedMessage("frist", "EMAIL"), 'There is no template "frist". Did you mean "first"?'),
        (WantedMessage("first", "EMAIL", claim_id=999), "There is no claim 999."),
    ],
)
async def test_a_missing_template_or_claim_is_reported(
    harness: Harness, printer: LetterPrinter, wanted: WantedMessage, expected: str
) -> None:
    with pytest.raises(NotFound) as refusal:
        await show(harness, printer, wanted)
    assert str(refusal.value) == expected


async def test_a_language_without_texts_is_refused(
    harness: Harness, printer: LetterPrinter
) -> None:
    with pytest.raises(ValidationError) as refusal:
        await show(harness, printer, WantedMessage("first", "SMS", language="fr"))
    assert [fault.code for fault in refusal.value.faults] == ["UNKNOWN_LANGUAGE"]


async def test_the_command_shows_a_message_and_writes_its_file(
    harness: Harness, dunwell: CommandLine, tmp_path: Path
) -> None:
    out = tmp_path / "mail.html"
    words = ("message", "nordwind", "Standard", "reminder", "email", "--out", str(out))
    done = dunwell.run("workflow", *words, "--language", "en")
    assert done.stdout.startswith(
        "To:       erika@example.org\nLanguage: en\nSubject:  Reminder INV-2026-0815\n"
    )
    assert done.stdout.endswith(f"Written: {out}\n")
    assert "Mustermann" in out.read_text()
