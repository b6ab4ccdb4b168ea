"""A statement is assigned to an account, however the bank writes its number."""

import pytest

from dunwell.cases.statements.formats.statement import (
    BankStatement,
    StatementKind,
    is_statement_of,
)

GERMAN = "DE89370400440532013000"
DUTCH = "NL91ABNA0417164300"


@pytest.mark.parametrize(
    ("iban", "number", "account", "expected"),
    [
        (GERMAN, None, GERMAN, True),
        (GERMAN, None, DUTCH, False),
        (None, "37040044/532013000", GERMAN, True),
        (None, "37040044/0532013000", GERMAN, True),
        (None, "37040044/0532013000EUR", GERMAN, True),
        (None, "37040044/32013000", GERMAN, False),
        (None, "37040045/532013000", GERMAN, False),
        (None, "532013000", GERMAN, True),
        (None, "417164300", DUTCH, True),
        (None, "0417.16.43.00EUR", DUTCH, True),
        (None, "164300", DUTCH, False),
        (None, "TRIODOSBANK/0417164300", DUTCH, False),
        (None, None, DUTCH, False),
    ],
)
def test_the_account_is_recognised(
    iban: str | None, number: str | None, account: str, expected: bool
) -> None:
    statement = BankStatement(StatementKind.STATEMENT, "S-1", iban, number, "EUR")
    assert is_statement_of(statement, account) is expected
