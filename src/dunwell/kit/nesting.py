"""A statement as an expression within another one, with its rows as JSON: what one page shows of
several modules' tables takes one round trip, and each statement stays with its module.
"""

import re

_PARAMETER = re.compile(r"\$(\d+)")


def nest(statement: str, *names: str) -> str:
    """Its rows as those of a table. names: what stands for its $1, $2 and so on in the outer
    statement; never a value from outside."""
    return f"({_PARAMETER.sub(lambda found: names[int(found[1]) - 1], statement)})"


def nest_row(statement: str, *names: str) -> str:
    """Its first row as a JSON object; NULL without one."""
    return f"(SELECT row_to_json(nested) FROM {nest(statement, *names)} nested LIMIT 1)"  # noqa: S608 - a constant's text


def nest_rows(statement: str, *names: str) -> str:
    """All its rows, in its order, as a JSON array of objects."""
    return f"(SELECT coalesce(json_agg(nested), '[]') FROM {nest(statement, *names)} nested)"  # noqa: S608 - the same
