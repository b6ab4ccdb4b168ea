"""Composing statements: placeholders, SQL files, nesting and conditions."""

from pathlib import Path

import pytest

from dunwell.platform.database.sql import (
    MAX_GROUP_SIZE,
    Conditions,
    compose,
    load_statement,
    nest,
    nest_row,
    split_into_groups,
)


def test_each_placeholder_is_replaced_everywhere() -> None:
    statement = compose("SELECT {key} FROM {table} ORDER BY {key}", key="id", table="claims")
    assert statement == "SELECT id FROM claims ORDER BY id"


def test_other_braces_are_kept() -> None:
    assert compose("SELECT '{}'::jsonb, '{1,2}'::int[]") == "SELECT '{}'::jsonb, '{1,2}'::int[]"


def test_inserted_text_is_not_searched_for_placeholders() -> None:
    assert compose("SELECT {text}", text="'{key}'") == "SELECT '{key}'"


@pytest.mark.parametrize("slots", [{}, {"table": "claims"}, {"key": "id", "tabel": "claims"}])
def test_missing_and_unused_placeholder_values_are_refused(
    slots: dict[str, str],
) -> None:
    with pytest.raises(ValueError, match="have no value, or these values no slot"):
        compose("SELECT {key}", **slots)


def test_a_statement_is_loaded_from_the_folder_of_its_module(tmp_path: Path) -> None:
    (tmp_path / "find.sql").write_text("SELECT {columns} FROM claims")
    statement = load_statement(str(tmp_path / "store.py"), "find.sql", columns="claim_id")
    assert statement == "SELECT claim_id FROM claims"


def test_a_nested_statement_uses_the_values_of_the_outer_one() -> None:
    assert nest("SELECT $2, $1, $2", "s.id", "$10") == "(SELECT $10, s.id, $10)"
    assert nest_row("SELECT $1", "s.id") == (
        "(SELECT row_to_json(nested) FROM (SELECT s.id) nested LIMIT 1)"
    )


def test_conditions_number_their_parameters_after_existing_ones() -> None:
    conditions = Conditions(7, 20)
    conditions.add("NOT held")
    conditions.add("(created_at, claim_id) < ({}, {})", "2026-03-01", 5)
    conditions.add("status = {}", "CREATED")
    assert conditions.render() == (
        "AND NOT held\n    AND (created_at, claim_id) < ($3, $4)\n    AND status = $5"
    )
    assert conditions.values == [7, 20, "2026-03-01", 5, "CREATED"]


@pytest.mark.parametrize(
    ("count", "sizes"),
    [
        (0, []),
        (1, [1]),
        (MAX_GROUP_SIZE, [MAX_GROUP_SIZE]),
        (MAX_GROUP_SIZE + 1, [MAX_GROUP_SIZE, 1]),
    ],
)
def test_rows_are_split_into_batches_in_order(count: int, sizes: list[int]) -> None:
    sets = list(split_into_groups(range(count)))
    assert [len(each) for each in sets] == sizes
    assert [value for each in sets for value in each] == list(range(count))
