"""Rules about people that need nothing: passwords, recovery codes, browsers' names."""

import pytest

from dunwell.people.password_rules import PasswordFault, find_password_fault
from dunwell.people.recovery_codes import hash_code
from dunwell.people.user import fold_email
from dunwell.people.visitor import describe_browser


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
def test_passwords(password: str, fault: PasswordFault | None) -> None:
    found = find_password_fault(password, name="Erika Mustermann", email="erika.m@example.org")
    assert found is fault


def test_of_a_long_password_its_beginning_is_looked_at() -> None:
    hard = "gravel lantern oboe"
    assert find_password_fault(hard + "a" * 900, name="E", email="e@x.org") is None
    assert find_password_fault("a" * 900 + hard, name="E", email="e@x.org") is PasswordFault.COMMON


def test_recovery_codes_are_read_as_people_type_them() -> None:
    code = hash_code("ABCD-EFGH-JKMN-01XZ")
    assert code is not None
    assert hash_code(" abcd efgh jkmn oixz ") == code
    assert hash_code("ABCD\u2010EFGH\u2013JKMN-0LXZ") == code
    assert [hash_code(each) for each in ("", "ABCD", "ABCD-EFGH-JKMN-01XU", "A" * 500)] == [
        None
    ] * 4


def test_e_mail_addresses_fold() -> None:
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
def test_browsers_are_called_by_their_names(agent: str, words: str) -> None:
    assert describe_browser(agent) == words
