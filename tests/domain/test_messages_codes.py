"""The access code of a letter: derived, printed in groups, accepted in any spelling."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dunwell.contact.messages.claim_links import (
    CODE_LENGTH,
    CODE_MASK,
    derive_code,
    digest_code,
    parse_code,
    render_code,
)
from dunwell.platform.crypto import KeyRing

KEYS = KeyRing({1: b"k" * 32})
OTHER_KEYS = KeyRing({1: b"o" * 32})


@given(st.uuids())
def test_a_printed_code_is_parsed_back(communication_id: UUID) -> None:
    code = derive_code(KEYS, communication_id)
    assert len(code) == CODE_LENGTH
    assert set(code) <= set("0123456789ABCDEFGHJKMNPQRSTVWXYZ")
    assert parse_code(render_code(code)) == code
    assert len(render_code(code)) == len(CODE_MASK)


@given(st.uuids())
def test_similar_characters_are_accepted_in_a_code(communication_id: UUID) -> None:
    code = derive_code(KEYS, communication_id)
    typed = render_code(code).lower().replace("0", "o").replace("1", "l").replace("-", " - ")
    assert parse_code(f"  {typed}\n") == code
    assert parse_code(code.replace("1", "I").replace("0", "O")) == code


@pytest.mark.parametrize(
    "text", ["", "ABCD-EFGH", "ABCD-EFGH-JKMU", "ABCD-EFGH-JKMN-P", "ÄBCDEFGHJKMN"]
)
def test_an_invalid_code_is_parsed_to_none(text: str) -> None:
    assert parse_code(text) is None


@given(st.text(max_size=40))
def test_parsing_a_code_never_crashes(text: str) -> None:
    code = parse_code(text)
    assert code is None or parse_code(code) == code


def test_a_code_depends_on_the_key_and_the_communication() -> None:
    first, second = UUID(int=1), UUID(int=2)
    codes = {derive_code(KEYS, first), derive_code(KEYS, second), derive_code(OTHER_KEYS, first)}
    assert len(codes) == 3
    assert derive_code(KEYS, first) == derive_code(KeyRing({1: b"k" * 32}), first)


def test_the_digest_of_a_code_is_keyed() -> None:
    code = derive_code(KEYS, UUID(int=1))
    assert digest_code(KEYS, code) != digest_code(OTHER_KEYS, code)
    assert len(digest_code(KEYS, code)) == 32
