"""Hostile files: each is refused with a reason, or cleaned and only offered as a download."""

import io
import re

import pikepdf
import pytest

from dunwell.core.files.cleaning import clean_file
from tests.support.api import Api
from tests.support.hostile_files import CLEANABLE, REFUSED
from tests.support.hostile_pdfs import EVIL

_ACTING = re.compile(
    rb"/(JavaScript|JS|Launch|EmbeddedFiles?|EF|XFA|AA|OpenAction|GoTo[RE]|SubmitForm|ImportData)\b"
)


def read_all(content: bytes) -> bytes:
    """Return the content of a file. For a PDF, append all its parts without compression."""
    if not content.startswith(b"%PDF-"):
        return content
    out = io.BytesIO()
    with pikepdf.open(io.BytesIO(content)) as pdf:
        pdf.save(
            out,
            compress_streams=False,
            stream_decode_level=pikepdf.StreamDecodeLevel.generalized,
            object_stream_mode=pikepdf.ObjectStreamMode.disable,
        )
    return content + out.getvalue()


def test_there_are_at_least_forty_hostile_files() -> None:
    assert len(CLEANABLE) + len(REFUSED) >= 40


@pytest.mark.parametrize("name", CLEANABLE)
def test_active_content_is_removed(name: str) -> None:
    _, content = CLEANABLE[name]
    assert EVIL in read_all(content)

    cleaned = clean_file(content)

    assert EVIL not in read_all(cleaned.content)
    assert _ACTING.findall(read_all(cleaned.content)) == []
    assert clean_file(cleaned.content).content_type == cleaned.content_type


async def test_cleaned_files_are_only_downloaded_as_attachments(api: Api) -> None:
    [claim_id] = await api.nordwind.create()
    path = f"/claims/{claim_id}/attachments"
    for name, (file_name, content) in CLEANABLE.items():
        uploaded = await api.nordwind.upload(file_name, content)
        assert uploaded.status_code == 200, (name, uploaded.text)
        source = uploaded.json()["result"]["ticketId"]
        given = {"sourceType": "TICKET", "source": source}
        attachment = (await api.nordwind.post(path, given)).json()["result"]
        one = f"{path}/{attachment['id']}"

        answer = await api.nordwind.get(f"{one}/content")

        assert EVIL not in read_all(answer.content), name
        assert len(answer.content) == attachment["size"]
        assert answer.headers["Content-Disposition"].startswith("attachment; ")
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        merchant_id = api.nordwind.merchant_id
        await api.nordwind.send("DELETE", f"/merchants/{merchant_id}{one}")


async def test_files_that_cannot_be_cleaned_are_refused_and_not_stored(api: Api) -> None:
    for name, (file_name, make) in REFUSED.items():
        answer = await api.nordwind.upload(file_name, make())

        assert answer.status_code == 415, (name, answer.text)
        assert answer.json()["error"]["type"] == "UnsupportedMediaType"
        assert answer.json()["error"]["message"].endswith("Upload a PDF, JPEG, PNG or WebP file.")

    assert await api.count("uploads") == 0
