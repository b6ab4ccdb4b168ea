"""The review before publishing shows each changed text in full, word by word."""

import re

import pytest

from tests.support.definitions import DOCUMENT, a_definition
from tests.support.harness import Harness
from tests.support.portal import Clerk, read_fields

# Longer than any line of a list, with the only change near the end.
_SMS = (
    "Shop: We have not received your payment yet. Please transfer the amount that is outstanding "
    "to the account you know from your order, or open this link to see it all: {{ landing.url }} "
    "Please pay within DAYS days."
)
_SMS_ADDRESS = "/texts/edit?template=reminder&channel=SMS&language=en"


@pytest.fixture
async def path(harness: Harness) -> str:
    """The path of a published workflow that also sends SMS."""
    body = {language: _SMS.replace("DAYS", "seven") for language in ("de", "en")}
    reminder = {**DOCUMENT["templates"]["reminder"], "SMS": {"body": body}}
    version = await harness.publish(a_definition(templates={"reminder": reminder}), "By SMS")
    return f"/workflows/{version.workflow_id}"


async def write(clerk: Clerk, address: str, **fields: str) -> None:
    form = read_fields((await clerk.get(address)).text)
    done = await clerk.post(address, {**form, "do": "save", **fields})
    assert done.status_code == 303, done.text


def read_compared(page: str) -> list[str]:
    found = re.findall(r'<div class="compared">(.*?)</div>', page, re.DOTALL)
    return [re.sub(r"</?(details|summary)>", "", each) for each in found]


async def test_a_change_at_the_end_of_a_long_sms_is_marked_word_by_word(
    clerk: Clerk, path: str
) -> None:
    await write(clerk, f"{path}{_SMS_ADDRESS}", body=_SMS.replace("DAYS", "nine"))

    page = await clerk.get(f"{path}/publish")

    by_author, by_version = read_compared(page.text)
    assert by_author == by_version
    start, end = _SMS.split("DAYS ")
    assert by_version == f"{start}<del>seven </del><ins>nine </ins>{end}"
    assert "…" not in by_version


async def test_the_text_of_a_new_channel_is_shown_in_full(clerk: Clerk, path: str) -> None:
    body = "\n".join(f"Line {number} of a letter that nobody has read yet." for number in range(40))
    address = f"{path}/texts/edit?template=reminder&channel=LETTER&language=en"
    await write(clerk, address, subject="Your invoice", body=f"{body}\n{{{{ items }}}}")

    page = await clerk.get(f"{path}/publish")

    compared = "".join(read_compared(page.text))
    assert "<ins>Your invoice</ins>" in compared
    assert f"<ins>{body}\n{{{{ items }}}}</ins>" in compared


async def test_markup_in_a_text_is_escaped_in_the_review(clerk: Clerk, path: str) -> None:
    await write(clerk, f"{path}{_SMS_ADDRESS}", body="<script>alert(1)</script> {{ landing.url }}")
    page = await clerk.get(f"{path}/publish")
    assert "<script>alert" not in page.text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page.text
