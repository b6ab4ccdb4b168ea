"""The payment code for banking apps, compared with the one that segno creates."""

from decimal import Decimal
from typing import Any

import pytest
import segno
from hypothesis import given
from hypothesis import strategies as st
from segno.helpers import make_epc_qr

from dunwell.contact.messages.letters.rendering import render_payment_code

_USUAL: dict[str, Any] = {
    "holder": "Nordwind", "iban": "DE02120300000000202051", "bic": None, "cents": 10490,
    "currency": "EUR", "purpose": "INV-1001",
}  # fmt: skip


def test_the_payment_code_is_a_credit_transfer() -> None:
    assert render_payment_code(**_USUAL) == (
        "BCD\n002\n1\nSCT\n\nNordwind\nDE02120300000000202051\nEUR104.90\n\n\nINV-1001"
    )


@given(
    # segno omits a final zero of the cents; apps accept both.
    st.integers(1, 99_999_999_999).filter(lambda cents: cents % 10),
    st.text(alphabet="ABC äöü&-/.", min_size=1, max_size=30).map(str.strip).filter(bool),
    st.sampled_from([None, "BYLADEM1001"]),
)
def test_the_payment_code_equals_that_of_segno(cents: int, purpose: str, bic: str | None) -> None:
    ours = render_payment_code(**_USUAL | {"cents": cents, "purpose": purpose, "bic": bic})
    assert ours is not None
    theirs = make_epc_qr(
        "Nordwind", _USUAL["iban"], Decimal(cents) / 100, text=purpose, bic=bic,
        encoding="utf-8",
    )  # fmt: skip
    again = segno.make_qr(ours.encode(), error="m", boost_error=False)
    assert [bytes(row) for row in again.matrix] == [bytes(row) for row in theirs.matrix]


@pytest.mark.parametrize(
    "change",
    [
        {"currency": "CHF"}, {"cents": 0}, {"cents": 100_000_000_000}, {"holder": "x" * 71},
        {"holder": " "}, {"purpose": "x" * 141}, {"holder": "漢" * 70, "purpose": "漢" * 60},
    ],
)  # fmt: skip
def test_a_payment_that_the_scheme_cannot_express_has_no_code(change: dict[str, Any]) -> None:
    assert render_payment_code(**_USUAL | change) is None


def test_no_value_can_add_a_line_to_the_code() -> None:
    payload = render_payment_code(**_USUAL | {"purpose": "A\nB", "holder": "C\r\nD"})
    assert payload is not None
    assert payload.split("\n")[5::5] == ["C D", "A B"]
