"""The parameters that every list takes, and how they are read."""

from dunwell.api.operation import Parameter
from dunwell.api.query import Query

_DEFAULT_LIMIT, _GREATEST_LIMIT = 50, 200

CURSOR = Parameter(
    name="cursor",
    place="query",
    description="`nextCursor` of the page before, with the same filters.",
    schema={"type": "string", "minLength": 1},
)
LIMIT = Parameter(
    name="limit",
    place="query",
    description="How many entries at most.",
    schema={
        "type": "integer", "minimum": 1, "maximum": _GREATEST_LIMIT, "default": _DEFAULT_LIMIT,
    },
    example=50,
)  # fmt: skip


def read_page(query: Query) -> tuple[int, str | None]:
    """The limit and the cursor."""
    limit = query.integer("limit", most=_GREATEST_LIMIT) or _DEFAULT_LIMIT
    return limit, query.text("cursor")
