"""The names of an uploaded file."""

import pytest

from dunwell.core.files.upload import clean_file_name, find_name_faults


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
def test_each_invalid_name_is_a_fault_of_its_field(name: str, code: str) -> None:
    assert [(f.path, f.code) for f in find_name_faults(name, "a")] == [("/friendlyName", code)]
    assert [(f.path, f.code) for f in find_name_faults("a", name)] == [("/fileName", code)]


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("invoice 0815.pdf", "invoice 0815.pdf"),
        ("../../etc/passwd", "passwd"),
        ("C:\\evil\\a.pdf", "a.pdf"),
        ("a\u202efdp.exe", "afdp.exe"),
        ("a\r\n\tb\u200b.pdf", "ab.pdf"),
        ("Rücksendebeleg März (1).pdf", "Rücksendebeleg März (1).pdf"),
        ("x" * 300 + ".pdf", "x" * 116 + ".pdf"),
        ("\u202e/", "-"),
        ("", "-"),
    ],
)
def test_an_unsafe_file_name_is_cleaned_and_then_has_no_fault(given: str, shown: str) -> None:
    assert clean_file_name(given) == shown
    assert find_name_faults(clean_file_name(given), clean_file_name(given)) == []
