"""Fault codes are upper snake case, and those of merchants' requests are in one table."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from dunwell.interfaces.api.failures import FAULT_CODES
from dunwell.platform.text.shape import find_faults
from tests.domain.test_shape import Trip

SOURCE = Path(__file__).parents[2] / "src" / "dunwell"
# Folders whose faults reach merchants; other faults reach operators.
MERCHANTS_FOLDERS = (
    "cases/disputes", "cases/intake", "cases/payments", "contact/escalation", "core/claims",
    "core/events", "core/files", "interfaces/api", "operations/sandbox", "platform",
)  # fmt: skip
# Only forms of debtors and clerks use these codes; their pages have their own texts.
FORMS_CODES = {"NAME", "TAKEN", "TEXT", "TOO_EARLY", "TOO_LATE"}
_MAKERS = ("Fault", "_fault", "_refuse")


def calls_that_make_faults(path: Path) -> Iterator[ast.Call]:
    text = path.read_text()
    if not any(maker in text for maker in _MAKERS):
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if name in _MAKERS:
                yield node


@cache
def codes_in(path: Path) -> frozenset[str]:
    """Return the last text argument of each call: the code, as far as it is a literal."""
    found: set[str] = set()
    for call in calls_that_make_faults(path):
        texts = [each.value for each in call.args if isinstance(each, ast.Constant)]
        codes = [each for each in texts if isinstance(each, str) and re.fullmatch(r"\w+", each)]
        found |= set(codes[-1:])
    return frozenset(found)


def test_every_code_is_upper_snake_case() -> None:
    codes = {code for path in SOURCE.rglob("*.py") for code in codes_in(path)}
    assert len(codes) > 40
    assert {code for code in codes if not re.fullmatch(r"[A-Z]+(_[A-Z]+)*", code)} == set()


def test_every_code_a_merchant_can_get_is_in_the_table() -> None:
    assert all((SOURCE / folder).is_dir() for folder in MERCHANTS_FOLDERS)
    codes = {
        code
        for folder in MERCHANTS_FOLDERS
        for path in (SOURCE / folder).rglob("*.py")
        for code in codes_in(path)
    }
    assert {"REQUIRED", "WRONG_ORDER", "IN_FUTURE"} <= codes
    assert codes - FAULT_CODES.keys() == FORMS_CODES


def test_the_codes_of_schema_faults_are_in_the_table() -> None:
    wrong = {"firstName": "Adelheid", "price": "x", "channel": "FAX", "parts": [1, 1, 1, 1], "y": 0}
    codes = {fault.code for fault in find_faults(wrong, Trip)}
    assert codes == {
        "TOO_LONG", "WRONG_FORMAT", "NOT_ALLOWED", "TOO_MANY", "WRONG_TYPE", "UNKNOWN_FIELD",
    }  # fmt: skip
    assert codes <= FAULT_CODES.keys()
