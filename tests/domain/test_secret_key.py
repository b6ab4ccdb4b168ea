"""The format of the secret key, and encryption and digests with its versions."""

import base64
from pathlib import Path

import pytest

from dunwell.platform.config.secret_key import (
    InvalidSecretKey,
    load_or_create_key_file,
    parse_secret_key,
    render_version,
    save_versions,
)
from dunwell.platform.crypto import SEAL_MARK, DecryptionFailed, KeyRing, parse_key_version

FIRST, SECOND, THIRD = bytes(range(32)), bytes(range(32, 64)), bytes(range(64, 96))
OLD = KeyRing({1: FIRST})
BOTH = KeyRing({2: SECOND, 1: FIRST})


def write(key: bytes) -> str:
    return base64.b64encode(key).decode()


def test_a_key_without_a_version_is_version_one() -> None:
    assert parse_secret_key(write(FIRST), must_be_random=True) == {1: FIRST}


@pytest.mark.parametrize("blank", [" ", "\n", "\r\n  "])
def test_key_versions_are_on_lines_with_the_used_one_first(blank: str) -> None:
    text = f"2:{write(SECOND)}{blank}{write(FIRST)}{blank}"
    assert list(parse_secret_key(text, must_be_random=True).items()) == [(2, SECOND), (1, FIRST)]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2:",
        f"0:{write(FIRST)}",
        f"32768:{write(FIRST)}",
        f"x:{write(FIRST)}",
        f"2:{write(SECOND)} 2:{write(FIRST)}",
        f"2:{write(FIRST)} 1:{write(FIRST)}",
        f"{write(SECOND)} {write(FIRST)}",
        f"2:{write(SECOND[:31])} {write(FIRST)}",
        f"2:{write(b'a' * 32)} {write(FIRST)}",
    ],
)
def test_an_invalid_key_is_refused(text: str) -> None:
    with pytest.raises(InvalidSecretKey):
        parse_secret_key(text, must_be_random=True)


def test_key_versions_are_saved_in_order_and_readable_only_by_the_owner(tmp_path: Path) -> None:
    path = tmp_path / "secret.key"
    first = parse_secret_key(load_or_create_key_file(path), must_be_random=True)
    save_versions(path, {2: SECOND, **first})
    assert list(parse_secret_key(load_or_create_key_file(path), must_be_random=True)) == [2, 1]
    assert path.read_text().splitlines()[0] == render_version(2, SECOND)
    assert path.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["secret.key"]


def test_a_sealed_value_names_the_version_of_its_key() -> None:
    old, new = OLD.seal("p", b"plain", "row"), BOTH.seal("p", b"plain", "row")
    assert (parse_key_version(old), parse_key_version(new)) == (1, 2)
    assert len(old) == len(SEAL_MARK) + 2 + 12 + 5 + 16
    assert BOTH.open("p", old, "row") == BOTH.open("p", new, "row") == b"plain"
    with pytest.raises(DecryptionFailed):
        OLD.open("p", new, "row")


@pytest.mark.parametrize("kept", [0, 1, 9, 20])
def test_a_truncated_sealed_value_is_refused(kept: int) -> None:
    cut = OLD.seal("p", b"plain", "row")[:kept]
    with pytest.raises(DecryptionFailed):
        OLD.open("p", cut, "row")


def test_resealing_uses_a_newer_version_and_keeps_the_value() -> None:
    sealed = OLD.seal("p", b"plain", "row")
    resealed = BOTH.reseal("p", sealed, "row")
    assert (parse_key_version(resealed), BOTH.open("p", resealed, "row")) == (2, b"plain")
    assert BOTH.reseal("p", resealed, "row") == resealed
    behind = KeyRing({1: FIRST, 2: SECOND})
    assert behind.reseal("p", resealed, "row") == resealed
    assert OLD.reseal("p", sealed, "row") == sealed
    with pytest.raises(DecryptionFailed):
        BOTH.reseal("p", sealed, "other row")


def test_digests_are_computed_under_every_version() -> None:
    assert BOTH.digests("p", b"x") == (
        KeyRing({2: SECOND}).digest("p", b"x"),
        OLD.digest("p", b"x"),
    )
    assert BOTH.digest("p", b"x", 1) == OLD.digest("p", b"x")
    with pytest.raises(KeyError):
        BOTH.digest("p", b"x", 3)


def test_the_fingerprint_of_a_key_does_not_depend_on_its_version() -> None:
    assert BOTH.fingerprint(1) == KeyRing({7: FIRST}).fingerprint(7)
    assert BOTH.fingerprint(2) != BOTH.fingerprint(1)
    assert BOTH.fingerprint(1) not in (FIRST, FIRST[:16], OLD.digest("fingerprint", b"")[:16])
