"""Parameters that several operations share."""

from dunwell.api.operation import Parameter

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
    description="The service's id of the claim.",
    schema={"type": "integer", "minimum": 1},
    is_required=True,
    example=4711,
)
PAYMENT_ID = Parameter(
    name="payment_id",
    place="path",
    description="The UUID of the payment, from the answer that recorded it.",
    schema={"type": "string", "format": "uuid"},
    is_required=True,
    example="01955a1c-0c00-7e55-b1a4-0d6c1e1f2a33",
)
WORKFLOW_ID = Parameter(
    name="workflow_id",
    place="path",
    description="The UUID of the workflow, from the workflow list.",
    schema={"type": "string", "format": "uuid"},
    is_required=True,
    example="0195547a-1f40-7c3e-9a41-6f1f0c2f9d11",
)
IDEMPOTENCY_KEY = Parameter(
    name="Idempotency-Key",
    place="header",
    description="Makes the request safe to repeat: the same key with the same request has one "
    "effect and one answer for 30 days. A new UUID per request does.",
    schema={"type": "string", "minLength": 1, "maxLength": 255},
    example="5f0c6f0e-1c1b-4a57-9d0e-0f6a2f0f7a11",
    is_addition=True,
)
