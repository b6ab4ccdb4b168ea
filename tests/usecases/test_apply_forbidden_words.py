"""A merchant's own forbidden words, from the file to texts that cannot be published."""

from pathlib import Path

import pytest

from dunwell.platform.errors import ValidationError
from dunwell.platform.resources import Resources
from tests.usecases.test_apply import Applying

_PLACE = "/workflows/0/definition/templates/reminder/EMAIL/body/en"


@pytest.fixture
def applying(resources: Resources, tmp_path: Path) -> Applying:
    return Applying(resources, tmp_path)


def set_text(applying: Applying, words: str) -> None:
    applying.definition["templates"]["reminder"]["EMAIL"]["body"]["en"] += f" {words}"


async def find_faults(applying: Applying) -> list[tuple[str, str]]:
    before = await applying.rows()
    with pytest.raises(ValidationError) as refusal:
        await applying.apply()
    assert await applying.rows() == before
    return [(fault.path, fault.code) for fault in refusal.value.faults]


async def test_a_file_with_a_threat_is_refused(applying: Applying) -> None:
    set_text(applying, "or we sue")
    assert await find_faults(applying) == [(_PLACE, "FORBIDDEN_WORD")]


async def test_the_merchants_list_replaces_the_standard_one(applying: Applying) -> None:
    set_text(applying, "or we sue")
    applying.document["forbiddenWords"] = {"en": ["kindly"]}
    await applying.apply()
    set_text(applying, "kindly")
    assert await find_faults(applying) == [(_PLACE, "FORBIDDEN_WORD")]


async def test_an_applied_list_stays_when_the_key_is_absent(applying: Applying) -> None:
    applying.document["forbiddenWords"] = {"en": []}
    await applying.apply()
    del applying.document["forbiddenWords"]
    set_text(applying, "or we sue")
    await applying.apply()
