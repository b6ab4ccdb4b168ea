"""The number of parts of an SMS, by known cases."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dunwell.contact.messages.templates.sms_parts import SmsParts, count_parts, replace_typography


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", SmsParts("GSM-7", 0, 1)),
        ("a" * 160, SmsParts("GSM-7", 160, 1)),
        ("a" * 161, SmsParts("GSM-7", 161, 2)),
        ("a" * 306, SmsParts("GSM-7", 306, 2)),
        ("a" * 307, SmsParts("GSM-7", 307, 3)),
        ("ß" * 160, SmsParts("GSM-7", 160, 1)),
        ("€", SmsParts("GSM-7", 2, 1)),
        ("a" * 158 + "€", SmsParts("GSM-7", 160, 1)),
        ("a" * 159 + "€", SmsParts("GSM-7", 161, 2)),
        # Each part has room for 76 euro signs, and for one septet that no euro sign fits into.
        ("€" * 153, SmsParts("GSM-7", 306, 3)),
        ("[]{}\\^~|", SmsParts("GSM-7", 16, 1)),
        ("ł", SmsParts("UCS-2", 1, 1)),
        ("ç", SmsParts("UCS-2", 1, 1)),
        ("\N{NO-BREAK SPACE}", SmsParts("UCS-2", 1, 1)),
        ("ł" * 70, SmsParts("UCS-2", 70, 1)),
        ("ł" * 71, SmsParts("UCS-2", 71, 2)),
        ("ł" * 134, SmsParts("UCS-2", 134, 2)),
        ("a" * 159 + "ł", SmsParts("UCS-2", 160, 3)),
        ("😀" * 35, SmsParts("UCS-2", 70, 1)),
        # 33 of them fit into a part of 67, because none is split.
        ("😀" * 67, SmsParts("UCS-2", 134, 3)),
    ],
)
def test_the_number_of_sms_parts_is_right_for_known_cases(text: str, parts: SmsParts) -> None:
    assert count_parts(text) == parts


def test_typographic_characters_are_replaced_by_plain_ones() -> None:
    liked = "\u201e1.000,00\N{NO-BREAK SPACE}€\u201c \u2013 so\u00ad weit\u2026 O\u2019Hara"
    assert replace_typography(liked) == '"1.000,00 €" - so weit... O\'Hara'
    assert count_parts(replace_typography(liked)).alphabet == "GSM-7"


@given(st.text(max_size=2000))
def test_the_number_of_parts_grows_with_the_text(text: str) -> None:
    parts = count_parts(text)
    assert parts.count >= count_parts(text[:-1]).count or parts.alphabet != "UCS-2"
    room = 153 if parts.alphabet == "GSM-7" else 67
    assert parts.count == 1 or parts.count * room >= parts.length
