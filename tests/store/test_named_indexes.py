"""The comments of statements name indexes that exist."""

import re
from collections.abc import Iterator
from pathlib import Path

import dunwell
from dunwell.platform.database.database import Database

_ROOT = Path(dunwell.__file__).parent
_NAMES = """
SELECT relname::text AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace
UNION
SELECT conname::text FROM pg_constraint WHERE connamespace = 'public'::regnamespace
"""
# A comment in Python or in SQL, of one or more lines.
_COMMENT = re.compile(r"(?m)(?:^ *(?:#|--) .*\n)+")
_MARK = re.compile(r"(?m)^ *(?:#|--) ")
_SENTENCE = re.compile(r"\b[Uu]ses? ([^.]+)\.")
# Columns are in parentheses.
_COLUMNS = re.compile(r"\([^)]*\)")
_NAME = re.compile(r"\b[a-z0-9]+(?:_[a-z0-9]+)+\b")


def list_named_indexes(source: str) -> Iterator[str]:
    """Yield the names in the sentences "Uses …" of the source's comments."""
    for comment in _COMMENT.findall(source):
        text = " ".join(_MARK.sub("", comment).split())
        for sentence in _SENTENCE.findall(text):
            yield from _NAME.findall(_COLUMNS.sub("", sentence))


async def test_comments_name_existing_indexes_and_constraints(database: Database) -> None:
    async with database.connection() as connection:
        existing = {row["name"] for row in await connection.fetch(_NAMES)}
    named = [
        (str(path.relative_to(_ROOT)), name)
        for path in sorted(_ROOT.rglob("*.py"))
        for name in list_named_indexes(path.read_text())
    ]
    assert len(named) > 100
    assert [each for each in named if each[1] not in existing] == []
