"""Digests of the ledger: different contents are never encoded alike."""

from hypothesis import given
from hypothesis import strategies as st

from dunwell.contact.messages.ledger.seal_ledger import (
    FIRST_PREVIOUS_DIGEST,
    SealParts,
    digest_content,
    digest_recipient,
    digest_row,
    digest_seal,
)
from dunwell.platform.crypto import KeyRing

KEYS = KeyRing({1: bytes(range(32))})
_PARTS = st.lists(st.none() | st.text(max_size=4), max_size=5)
_DIGESTS = st.lists(st.binary(min_size=32, max_size=32), max_size=3)


@given(_PARTS, _PARTS)
def test_contents_have_one_digest_only_if_they_are_equal(
    one: list[str | None], other: list[str | None]
) -> None:
    digests = [digest_content(KEYS, 1, parts) for parts in (one, other)]
    assert (digests[0] == digests[1]) is (one == other)


@given(_DIGESTS, _DIGESTS, _DIGESTS, _DIGESTS)
def test_seals_distinguish_contact_rows_from_audit_rows(
    contacts: list[bytes], audits: list[bytes], others: list[bytes], more: list[bytes]
) -> None:
    one = digest_seal(KEYS, 1, SealParts(1, FIRST_PREVIOUS_DIGEST, contacts, audits))
    other = digest_seal(KEYS, 1, SealParts(1, FIRST_PREVIOUS_DIGEST, others, more))
    assert (one == other) is ((contacts, audits) == (others, more))


def test_a_seal_covers_its_number_its_merchant_and_the_seal_before() -> None:
    base = digest_seal(KEYS, 1, SealParts(1, FIRST_PREVIOUS_DIGEST, [], []))
    assert base != digest_seal(KEYS, 1, SealParts(2, FIRST_PREVIOUS_DIGEST, [], []))
    assert base != digest_seal(KEYS, 2, SealParts(1, FIRST_PREVIOUS_DIGEST, [], []))
    assert base != digest_seal(KEYS, 1, SealParts(1, bytes(31) + b"x", [], []))


def test_digests_of_different_kinds_and_merchants_differ() -> None:
    digests = {
        digest_recipient(KEYS, 1, "EMAIL", "a"),
        digest_recipient(KEYS, 2, "EMAIL", "a"),
        digest_recipient(KEYS, 1, "SMS", "a"),
        digest_content(KEYS, 1, ["EMAIL", "a"]),
        digest_row(KEYS, 1, "EMAIL", "a"),
    }
    assert len(digests) == 5
