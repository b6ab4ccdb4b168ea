"""Parameters that several operations share, and functions that parse the parameters of lists."""

from collections.abc import Iterable

from dunwell.interfaces.api.address import Query
from dunwell.interfaces.api.operation import Parameter

_DEFAULT_LIMIT, _MAX_LIMIT = 50, 200

MERCHANT_ID = Parameter(
    name="merchant_id",
    place="path",
    description="The integer id of the merchant account.",
    schema={"type": "integer", "minimum": 1},
    is_required=True,
    example=1,
)
CLAIM_ID = Parameter(
    name="claim_id",
    place="path",
    description="The claim's id in the service.",
    schema={"type": "integer", "minimum": 1},
    is_required=True,
    example=4711,
)
ITEM_ID = Parameter(
    name="item_id",
    place="path",
    description="The id of the item, from the claim.",
    schema={"type": "integer", "minimum": 1},
    is_required=True,
    example=9002,
)
PAYMENT_ID = Parameter(
    name="payment_id",
    place="path",
    description="The UUID of the payment, from a list or from the response that recorded it.",
    schema={"type": "string", "format": "uuid"},
    is_required=True,
    example="01955a1c-0c00-7e55-b1a4-0d6c1e1f2a33",
)
PAYMENT_REQUEST_ID = Parameter(
    name="payment_request_id",
    place="path",
    description="The UUID of the payment request, from a list or the event.",
    schema={"type": "string", "format": "uuid"},
    is_required=True,
    example="01955b44-0a10-7a1c-b2d3-e4f5061728a9",
)
PAYOUT_ID = Parameter(
    name="payout_id",
    place="path",
    description="The UUID of the payout, from the list.",
    schema={"type": "string", "format": "uuid"},
    is_required=True,
    example="01955a5e-1c00-7b20-9c41-7d8e9f0a1b2c",
)
EVENT_ID = Parameter(
    name="event_id",
    place="path",
    description="The UUID of the event, from the list or its webhook.",
    schema={"type": "string", "format": "uuid"},
    is_required=True,
    example="0195547b-2c80-7b1d-8e55-9f0a1b2c3d4e",
)
MODALITY_ID = Parameter(
    name="modality_id",
    place="path",
    description="The UUID of the payment modality, from the list or the event.",
    schema={"type": "string", "format": "uuid"},
    is_required=True,
    example="01955b00-7a10-7c44-9b1d-2e5f60718293",
)
MANDATE_ID = Parameter(
    name="mandate_id",
    place="path",
    description="The UUID of the mandate, from a list or the event.",
    schema={"type": "string", "format": "uuid"},
    is_required=True,
    example="01955d01-3c00-7a20-9f10-b2c3d4e5f607",
)
DISPUTE_ID = Parameter(
    name="dispute_id",
    place="path",
    description="The UUID of the dispute, from the list or the event.",
    schema={"type": "string", "format": "uuid"},
    is_required=True,
    example="01955b2e-4c00-7a1f-8d3b-5a6978c0d1e2",
)
FILE_ID = Parameter(
    name="file_id",
    place="path",
    description="The UUID of the file, from the dispute.",
    schema={"type": "string", "format": "uuid"},
    is_required=True,
    example="01955c0a-2290-7a14-b5e6-42c3d4e5f607",
)
REFERENCE = Parameter(
    name="reference",
    place="path",
    description="The UUID of the communication, from the list or the ESCALATED event.",
    schema={"type": "string", "format": "uuid"},
    is_required=True,
    example="0195547b-2b11-7c9a-a0b1-c2d3e4f50617",
)
ATTACHMENT_ID = Parameter(
    name="attachment_id",
    place="path",
    description="The UUID of the attachment, from the claim's list.",
    schema={"type": "string", "format": "uuid"},
    is_required=True,
    example="01955c04-1180-7f02-a6de-31b2c3d4e5f6",
)
WORKFLOW_ID = Parameter(
    name="workflow_id",
    place="path",
    description="The UUID of the workflow, from the workflow list.",
    schema={"type": "string", "format": "uuid"},
    is_required=True,
    example="0195547a-1f40-7c3e-9a41-6f1f0c2f9d11",
)
SCENARIO_ID = Parameter(
    name="scenario_id",
    place="path",
    description="The id of the scenario, from the scenario list.",
    schema={"type": "integer", "minimum": 1},
    is_required=True,
    example=12,
)
# The upload ticket in all examples.
TICKET_EXAMPLE = "01955479-8c10-7d20-8f3e-7a6b5c4d3e2f"
IDEMPOTENCY_KEY = Parameter(
    name="Idempotency-Key",
    place="header",
    description="Makes the request safe to repeat: for 30 days, the same request with the same key "
    "takes effect once and gets the same response. Printable ASCII, for example a new UUID for "
    "each request.",
    # Printable ASCII without spaces at either end, because those are not part of a header's value.
    schema={
        "type": "string",
        "minLength": 1,
        "maxLength": 255,
        "pattern": "^[!-~]([ -~]*[!-~])?$",
    },
    example="5f0c6f0e-1c1b-4a57-9d0e-0f6a2f0f7a11",
    is_addition=True,
)
CURSOR = Parameter(
    name="cursor",
    place="query",
    description="The `nextCursor` of the previous page, with the same filters.",
    schema={"type": "string", "minLength": 1},
)
ACCOUNT = Parameter(
    name="account",
    place="query",
    description="Only entries of this account at a payment provider or bank.",
    schema={"type": "string", "minLength": 1, "maxLength": 255},
    example="bank:giro",
)
_INSTANT = {"type": "string", "format": "date-time"}
SINCE = Parameter(
    name="since",
    place="query",
    description="Only entries at or after this time.",
    schema=_INSTANT,
    example="2026-03-01T00:00:00Z",
)
UNTIL = Parameter(
    name="until",
    place="query",
    description="Only entries before this time.",
    schema=_INSTANT,
    example="2026-04-01T00:00:00Z",
)
# The description of pages, for all operations that list entries of all claims.
PAGES = (
    "No entry is ever added after a cursor that was returned. Filters are applied to ten thousand "
    "entries at a time, so a page may have fewer entries than `limit`, or none, and still have a "
    "`nextCursor`. Continue until that is null."
)
LIMIT = Parameter(
    name="limit",
    place="query",
    description=f"The maximum number of entries. Default: {_DEFAULT_LIMIT}.",
    schema={"type": "integer", "minimum": 1, "maximum": _MAX_LIMIT},
    example=50,
)


def parse_page(query: Query) -> tuple[int, str | None]:
    """Return the limit and the cursor."""
    limit = query.integer("limit", maximum=_MAX_LIMIT) or _DEFAULT_LIMIT
    return limit, query.text("cursor")


def build_choice_parameter(name: str, allowed: Iterable[str], description: str) -> Parameter:
    """Build a query filter with a fixed set of values. The first value is its example."""
    values = list(allowed)
    return Parameter(
        name=name, place="query", example=values[0], schema={"type": "string", "enum": values},
        description=description,
    )  # fmt: skip


def build_flag_parameter(name: str, description: str, *, example: bool) -> Parameter:
    """Build a query filter that is true or false."""
    return Parameter(
        name=name, place="query", example=example, schema={"type": "boolean"},
        description=description,
    )  # fmt: skip


def parse_flag(query: Query, name: str) -> bool | None:
    """Parse a filter that is true or false. Return None if it is not given."""
    value = query.choice(name, ("true", "false"))
    return None if value is None else value == "true"
