"""Pure rules about users: passwords, recovery codes, names of browsers."""

import re
from uuid import UUID

import pytest

from dunwell.accounts.users.factors.recovery_codes import (
    derive_recovery_codes,
    hash_recovery_code,
    render_recovery_code,
)
from dunwell.accounts.users.passwords import PasswordFault, find_password_fault
from dunwell.accounts.users.user import fold_email
from dunwell.accounts.users.user_work import describe_browser
from dunwell.platform.crypto import KeyRing


@pytest.mark.parametrize(
    ("password", "fault"),
    [
        ("elevenchars", PasswordFault.TOO_SHORT),
        ("a" * 12, PasswordFault.COMMON),
        ("123456789012", PasswordFault.COMMON),
        ("qwertyuiop12", PasswordFault.COMMON),
        ("Password1234", PasswordFault.COMMON),
        ("P@ssw0rd2024!", PasswordFault.COMMON),
        ("iloveyouiloveyou", PasswordFault.COMMON),
        ("mustermann is my name", PasswordFault.PERSONAL),
        ("ERIKA.M and friends", PasswordFault.PERSONAL),
        ("xx dunwell xx 4711", PasswordFault.PERSONAL),
        ("x" * 1001, PasswordFault.TOO_LONG),
        ("correct horse battery", None),
        ("gravel lantern oboe", None),
        ("Ueß-Ärger 9 Klöße!", None),
        ("q7#Lm!vR2$zK", None),
    ],
)
def test_weak_passwords_are_refused_with_the_reason(
    password: str, fault: PasswordFault | None
) -> None:
    found = find_password_fault(password, name="Erika Mustermann", email="erika.m@example.org")
    assert found is fault


def test_only_the_beginning_of_a_long_password_is_checked() -> None:
    hard = "gravel lantern oboe"
    assert find_password_fault(hard + "a" * 900, name="E", email="e@x.org") is None
    assert find_password_fault("a" * 900 + hard, name="E", email="e@x.org") is PasswordFault.COMMON


def test_a_recovery_code_has_24_characters_of_base32_in_groups_of_four() -> None:
    codes = derive_recovery_codes(KeyRing({1: b"k" * 32}), "a session's secret", UUID(int=1))
    assert len(set(codes)) == 10
    for code in codes:
        assert re.fullmatch("[0-9A-HJKMNP-TV-Z]{24}", code)
        assert render_recovery_code(code).split("-") == re.findall("....", code)


def test_each_of_the_120_bits_changes_a_recovery_code() -> None:
    """The code has 15 bytes of the keyed digest, each of them once."""
    codes = derive_recovery_codes(KeyRing({1: b"k" * 32}), "a session's secret", UUID(int=1))
    digest = KeyRing({1: b"k" * 32}).digest(
        "portal-recovery-codes", f"{UUID(int=1)} 0 a session's secret".encode()
    )
    value = sum(
        "0123456789ABCDEFGHJKMNPQRSTVWXYZ".index(letter) << 5 * (23 - place)
        for place, letter in enumerate(codes[0])
    )
    assert value == int.from_bytes(digest[:15])


def test_recovery_codes_are_accepted_in_common_spellings() -> None:
    code = hash_recovery_code("ABCD-EFGH-JKMN-01XZ-PQRS-TVWX")
    assert code is not None
    assert hash_recovery_code(" abcd efgh jkmn oixz pqrs tvwx ") == code
    assert hash_recovery_code("a b c d e f g h j k m n o i x z p q r s t v w x") == code
    assert hash_recovery_code("ABCD\u2010EFGH\u2013JKMN-0LXZ-pqrstvwx") == code
    wrong = ("", "ABCD", "ABCD-EFGH-JKMN-01XZ", "ABCD-EFGH-JKMN-01XU-PQRS-TVWX", "A" * 500)
    assert [hash_recovery_code(each) for each in wrong] == [None] * 5


def test_e_mail_addresses_are_normalised() -> None:
    assert fold_email(" Stra\u00dfe@Example.ORG ") == fold_email("STRASSE@example.org")


@pytest.mark.parametrize(
    ("agent", "words"),
    [
        ("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko Firefox/140.0", "Firefox, Linux"),
        ("Mozilla/5.0 (Windows NT 10.0) Chrome/140.0 Safari/537.36 Edg/140", "Edge, Windows"),
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 18) Version/18 Safari/604", "Safari, iPhone"),
        ("curl/8.0", ""),
        ("<script>alert(1)</script>", ""),
    ],
)
def test_browsers_and_systems_are_named(agent: str, words: str) -> None:
    assert describe_browser(agent) == words
