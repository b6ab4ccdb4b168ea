"""The rules for a claim's attachments, and the header of their downloads."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dunwell.core.claims.states import ACTIVE, Status
from dunwell.core.files.upload import (
    MAX_ATTACHMENTS,
    check_attachable,
    check_attachment_count,
    render_disposition,
)
from dunwell.platform.errors import InvalidState, ValidationError


@pytest.mark.parametrize("status", Status)
def test_files_can_only_be_attached_to_active_claims(status: Status) -> None:
    if status in ACTIVE:
        check_attachable(status)
        return
    with pytest.raises(InvalidState) as caught:
        check_attachable(status)
    assert caught.value.details == {"state": status.value}


def test_a_claim_has_at_most_twenty_attachments() -> None:
    check_attachment_count(MAX_ATTACHMENTS - 1)
    with pytest.raises(ValidationError) as caught:
        check_attachment_count(MAX_ATTACHMENTS)
    assert [fault.code for fault in caught.value.faults] == ["TOO_MANY"]


@given(st.text(st.characters(codec="utf-8")))
def test_no_file_name_can_break_the_header(name: str) -> None:
    header = render_disposition(name)

    assert header.isascii()
    assert header.isprintable()
    kind, plain, encoded = header.split('"')
    assert kind == "attachment; filename="
    assert not set(plain) & set("\\%/")
    assert encoded.startswith("; filename*=UTF-8''")
    assert not set(encoded[len("; filename*=UTF-8''") :]) & set("'\";, /\\")
