"""Documents name only files that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
_SOURCE = ROOT / "src" / "dunwell"
_DOCUMENTS = sorted(
    [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "docs").glob("operator/*.md")]
)
# A file named in a document: `folder/name.py`, as code.
_NAMED = re.compile(r"`((?:[a-z_]+/)+[a-z_0-9]*(?:\.[a-z]+)?)`")
# A test named in a row of the threat model.
_TESTED = re.compile(r"`(tests/[a-z_/]+\.py)`")
_LINKED = re.compile(r"\]\((?!https?:|#)([^)#]+)")
# Paths created at run time, or placeholders for the reader's own.
_NOT_THERE = re.compile(r"^(var|run|etc)/")


@pytest.mark.parametrize("document", _DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_linked_files_exist(document: Path) -> None:
    linked = _LINKED.findall(document.read_text())
    assert [each for each in linked if not (document.parent / each).exists()] == []


@pytest.mark.parametrize("name", ["architecture.md", "conventions.md", "../CONTRIBUTING.md"])
def test_source_files_named_in_documents_exist(name: str) -> None:
    named = _NAMED.findall((ROOT / "docs" / name).read_text())
    there = [ROOT, _SOURCE]
    assert named
    lost = [each for each in named if not any((folder / each).exists() for folder in there)]
    assert [each for each in lost if not _NOT_THERE.match(each)] == []


def test_every_row_of_the_threat_model_names_tests_that_exist() -> None:
    text = (ROOT / "docs" / "threat-model.md").read_text()
    # The first section lists what each party is trusted with; the others contain promises.
    _, _, promises = text.partition("## Internet to web process")
    rows = [
        line
        for line in promises.splitlines()
        if line.startswith("| ") and not line.startswith("| must not")
    ]
    shown = {row: _TESTED.findall(row) for row in rows}
    assert len(rows) > 50
    assert [row for row, tests in shown.items() if not tests] == []
    assert [each for tests in shown.values() for each in tests if not (ROOT / each).exists()] == []
