"""The names of an upload."""

import pytest

from dunwell.files.names import find_name_faults


def test_usual_names_have_no_fault() -> None:
    assert find_name_faults("Ihre Rechnung für März 📎", "../../RE 2026-1.pdf") == []
    assert find_name_faults("x" * 255, "y" * 255) == []


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("", "REQUIRED"),
        ("   ", "REQUIRED"),
        ("x" * 256, "TOO_LONG"),
        ("a\nb", "CONTROL_CHARACTER"),
        ("a\x00b", "CONTROL_CHARACTER"),
        ("a\u2028b", "CONTROL_CHARACTER"),
        ("fdp\u202eexe.", "CONTROL_CHARACTER"),
        ("\ud800", "CONTROL_CHARACTER"),
    ],
)
def test_each_bad_name_is_a_fault_at_its_part(name: str, code: str) -> None:
    assert [(f.path, f.code) for f in find_name_faults(name, "a")] == [("/friendlyName", code)]
    assert [(f.path, f.code) for f in find_name_faults("a", name)] == [("/fileName", code)]
