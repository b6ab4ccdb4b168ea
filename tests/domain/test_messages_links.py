"""The token of a link: derived, never stored, masked in stored texts."""

import re
from uuid import UUID

from dunwell.contact.messages.claim_links import TOKEN_MASK, derive_token, hash_token, unmask_token
from dunwell.platform.crypto import KeyRing

_KEYS = KeyRing({1: bytes(32)})
_ID = UUID("01900000-0000-7000-8000-000000000001")


def test_a_token_has_128_bits_in_url_safe_characters() -> None:
    assert re.fullmatch(r"[A-Za-z0-9_-]{22}", derive_token(_KEYS, _ID))


def test_a_token_depends_on_the_key_and_the_communication() -> None:
    other = UUID("01900000-0000-7000-8000-000000000002")
    assert derive_token(_KEYS, _ID) == derive_token(KeyRing({1: bytes(32)}), _ID)
    assert derive_token(_KEYS, other) != derive_token(_KEYS, _ID)
    assert derive_token(KeyRing({1: b"k" * 32}), _ID) != derive_token(_KEYS, _ID)


def test_a_token_is_stored_as_a_hash_of_32_bytes() -> None:
    token = derive_token(_KEYS, _ID)
    assert len(hash_token(token)) == 32
    assert token.encode() not in hash_token(token)
    assert hash_token(token) != hash_token(token + "x")


def test_every_mask_is_replaced_by_the_token() -> None:
    stored = f"https://pay.example/q/{TOKEN_MASK} and /q/{TOKEN_MASK}"
    assert unmask_token(stored, "t0ken") == "https://pay.example/q/t0ken and /q/t0ken"
    assert unmask_token("no link here", "t0ken") == "no link here"
