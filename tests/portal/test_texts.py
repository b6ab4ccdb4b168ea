"""The templates of a workflow in the portal: the marks of the grid, the review while editing, and
saving; markup in any text is escaped."""

import re
from typing import Any

import pytest

from dunwell.core.workflows.store import load_draft
from dunwell.core.workflows.texts import TextContent, TextPlace, find_text
from tests.support.harness import Harness
from tests.support.portal import Clerk, read_fields
from tests.support.portal_data import MARKUP
from tests.support.texts import a_texts_definition, a_texts_harness

_MAIL = "/texts/edit?template=reminder&channel=EMAIL&language=de"
_SMS = "/texts/edit?template=reminder&channel=SMS&language=en"
_GAP = "/texts/edit?template=reminder&channel=LETTER&language=en"
_PLACE = TextPlace("templates", "reminder", "de", "EMAIL")


@pytest.fixture
async def path(harness: Harness) -> str:
    return await a_texts_harness(harness)


async def read(harness: Harness, path: str, place: TextPlace = _PLACE) -> TextContent | None:
    async with harness.work() as work:
        draft = await load_draft(work.tx, work.merchant_id, path.rpartition("/")[2])  # type: ignore[arg-type]
    assert draft is not None
    return find_text(draft.definition, place)


def read_review(text: str) -> str:
    """Return the text of the page's review."""
    return text.partition('id="checked"')[2].partition("</aside>")[0]


async def write(clerk: Clerk, address: str, **fields: Any) -> Any:
    form = read_fields((await clerk.get(address)).text)
    return await clerk.post(address, {**form, "do": "save", **fields})


async def test_the_grid_marks_missing_and_faulty_texts_with_links(clerk: Clerk, path: str) -> None:
    page = await clerk.get(f"{path}/texts")

    assert "1 template is missing." in page.text
    assert "1 template cannot be published." in page.text
    assert "The creditor is missing; add" in page.text
    gap = clerk.at(f"{path}{_GAP}").replace("&", "&amp;")
    assert f'<a href="{gap}"><span class="tag bad">Missing</span>' in page.text
    assert "Used in: First reminder" in page.text


async def test_a_missing_text_is_written_and_saved_in_the_draft(
    clerk: Clerk, harness: Harness, path: str
) -> None:
    answer = await write(clerk, f"{path}{_GAP}", subject="Your invoice", body="{{ items }}")
    page = await clerk.follow(answer)

    assert "Saved." in page.text
    letter = TextPlace("templates", "reminder", "en", "LETTER")
    assert await read(harness, path, letter) == TextContent("{{ items }}", "Your invoice")
    assert "1 template is missing." not in (await clerk.get(f"{path}/texts")).text
    [row] = await harness.rows(
        "SELECT before, after FROM audit_log WHERE merchant_id = $1 AND action = $2",
        "workflow.edit_draft",
    )
    assert set(row["after"]) == {"templates/reminder"}


async def test_a_text_is_checked_without_being_saved(
    clerk: Clerk, harness: Harness, path: str
) -> None:
    address, before = f"{path}{_MAIL}", await read(harness, path)
    form = read_fields((await clerk.get(address)).text)
    body = f"Die Polizei kommt. {' '.join(['Wort'] * 21)}. {{{{ landing.url }}}}"

    page = await clerk.post(address, {**form, "do": "check", "body": body})

    assert page.status_code == 200
    assert "The amount to pay is missing; add" in read_review(page.text)
    assert "Messages to debtors must not contain &#34;Polizei&#34;" in read_review(page.text)
    assert "1 sentence has more than 20 words." in read_review(page.text)
    assert "Die Polizei kommt." in read_fields(page.text)["body"]
    assert await read(harness, path) == before


async def test_the_editor_shows_the_number_of_sms_parts(clerk: Clerk, path: str) -> None:
    address = f"{path}{_SMS}"
    form = read_fields((await clerk.get(address)).text)
    body = "{{ merchant.name }}: {{ outstanding }} {{ landing.url }} " + "a" * 150

    page = await clerk.post(address, {**form, "do": "check", "body": body})

    assert "2 parts" in read_review(page.text)
    assert "Nordwind: €104.90" in read_review(page.text)


async def test_a_placeholder_can_be_inserted_without_scripts(clerk: Clerk, path: str) -> None:
    address = f"{path}{_MAIL}"
    form = read_fields((await clerk.get(address)).text)

    page = await clerk.post(address, {**form, "insert": "bank.iban"})

    assert read_fields(page.text)["body"].endswith("{{ snippet.signature }} {{ bank.iban }}")


async def test_each_placeholder_is_listed_with_an_example_value(clerk: Clerk, path: str) -> None:
    mail, sms = (await clerk.get(f"{path}{_MAIL}")).text, (await clerk.get(f"{path}{_SMS}")).text

    assert re.search(r"<code>debtor.name</code></button> .*Erika Mustermann", mail)
    assert re.search(r"<code>snippet.signature</code></button> .*Ihr Team", mail)
    assert "<code>items</code>" in mail
    assert "<code>items</code>" not in sms
    assert "<code>landing.code</code>" not in mail
    assert "__masked" not in mail


async def test_after_a_conflict_over_a_text_both_texts_are_shown(
    clerk: Clerk, harness: Harness, path: str
) -> None:
    address = f"{path}{_MAIL}"
    first = read_fields((await clerk.get(address)).text)
    await clerk.post(address, {**first, "do": "save", "body": "Erster Text"})

    answer = await clerk.post(address, {**first, "do": "save", "body": "Zweiter Text"})

    assert answer.status_code == 409
    assert "Someone else changed this while you were editing" in answer.text
    assert "Erster Text</p>" in answer.text
    again = read_fields(answer.text)
    assert again["body"] == "Zweiter Text"
    known = await read(harness, path)
    assert known is not None
    assert known.body == "Erster Text"
    saved = await clerk.post(address, {**again, "do": "save"})
    assert saved.status_code == 303
    known = await read(harness, path)
    assert known is not None
    assert known.body == "Zweiter Text"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"body": " ", "subject": "S"}, "Please fill this in."),
        ({"body": "Text", "subject": ""}, "Please fill this in."),
        ({"body": "a" * 20_001, "subject": "S"}, "The text is too long."),
        ({"body": "Text\x07", "subject": "S"}, "invisible control character"),
    ],
)
async def test_an_invalid_text_is_reported_and_stays_in_the_form(
    clerk: Clerk, harness: Harness, path: str, fields: dict[str, str], words: str
) -> None:
    before = await read(harness, path)

    answer = await write(clerk, f"{path}{_MAIL}", **fields)

    assert answer.status_code == 422
    assert words in answer.text
    assert read_fields(answer.text)["subject"] == fields["subject"]
    assert await read(harness, path) == before


async def test_a_text_can_be_removed(clerk: Clerk, harness: Harness, path: str) -> None:
    form = read_fields((await clerk.get(f"{path}{_MAIL}")).text)

    await clerk.follow(await clerk.post(f"{path}{_MAIL}", {**form, "do": "remove"}))

    assert await read(harness, path) is None
    assert "2 templates are missing." in (await clerk.get(f"{path}/texts")).text


async def test_texts_of_an_older_version_are_read_only(clerk: Clerk, harness: Harness) -> None:
    [row] = await harness.rows("SELECT workflow_id FROM workflows WHERE merchant_id = $1")
    path = f"/workflows/{row['workflow_id']}"
    address = f"{path}{_MAIL}"
    await write(clerk, address, body="Neu {{ outstanding }} {{ landing.url }}")

    draft, old = await clerk.get(address), await clerk.get(f"{address}&version=v1.0")

    assert "Neu {{ outstanding }}" in draft.text
    assert "Neu {{ outstanding }}" not in old.text
    assert "Its templates cannot be changed." in old.text
    assert "data-text" not in old.text
    assert (await clerk.get(f"{address}&version=v9.9")).status_code == 404


async def test_markup_in_templates_is_escaped(clerk: Clerk, harness: Harness) -> None:
    """Markup in names, subjects, texts and snippets, and in the rendered messages."""
    evil = f"{MARKUP} {{% raw %}} {{{{ 7*7 }}}} {{{{ config }}}}"
    definition = a_texts_definition(
        templates={MARKUP: {"EMAIL": {"subject": {"de": evil}, "body": {"de": evil}}}},
        snippets={"signature": {"de": evil}},
    )
    path = await a_texts_harness(harness, definition)
    name = "%3Cb%3Ebold%3C%2Fb%3E+%26+%22quoted%22+%3Cscript%3Ealert%281%29%3C%2Fscript%3E"
    for address in (
        "/texts",
        f"/texts/edit?template={name}&channel=EMAIL&language=de",
        "/texts/edit?snippet=signature&language=de",
        f"/texts/preview?template={name}&channel=EMAIL&language=de",
        f"/texts/preview/mail?template={name}&channel=EMAIL&language=de",
        "/simulate",
    ):
        page = await clerk.get(f"{path}{address}")
        assert page.status_code == 200, address
        assert "<script>alert" not in page.text, address
        assert "<b>bold" not in page.text, address


@pytest.mark.parametrize(
    "query",
    [
        "template=reminder&channel=FAX&language=de",
        "template=reminder&channel=EMAIL&language=fr",
        "channel=EMAIL&language=de",
        "snippet=signature&channel=SMS&language=de",
        f"template={'n' * 256}&channel=EMAIL&language=de",
        "template=reminder&language=de",
    ],
)
async def test_an_address_that_names_no_text_is_not_found(
    clerk: Clerk, path: str, query: str
) -> None:
    assert (await clerk.get(f"{path}/texts/edit?{query}")).status_code == 404


async def test_an_unknown_snippet_is_refused_with_a_message(clerk: Clerk, path: str) -> None:
    answer = await write(clerk, f"{path}/texts/edit?snippet=Grüße&language=de", body="Hallo")

    assert answer.status_code == 422
    assert "snippet name may contain letters" in answer.text
