"""All operations of the API in the order of the reference, and the endpoints that serve them."""

from dunwell.interfaces.api.routes import (
    attachments,
    claim_changes,
    claim_items,
    claim_reading,
    claims,
    communications,
    disputes,
    events,
    modalities,
    payment_lists,
    payments,
    sandbox,
    workflows,
)
from dunwell.interfaces.api.routes.token import OBTAIN_TOKEN

ENDPOINTS = (
    *attachments.UPLOAD_ENDPOINTS,
    *claims.ENDPOINTS,
    *claim_reading.ENDPOINTS,
    *claim_changes.ENDPOINTS,
    *claim_items.ENDPOINTS,
    *attachments.ENDPOINTS,
    *communications.FIND_ENDPOINTS,
    *communications.ENDPOINTS,
    *payment_lists.ENDPOINTS,
    *payment_lists.CLAIM_ENDPOINTS,
    *payments.ENDPOINTS,
    *disputes.FIND_ENDPOINTS,
    *disputes.ENDPOINTS,
    *modalities.FIND_ENDPOINTS,
    *modalities.ENDPOINTS,
    *workflows.ENDPOINTS,
    *workflows.SCENARIO_ENDPOINTS,
    *events.ENDPOINTS,
    *events.WEBHOOK_ENDPOINTS,
    *sandbox.ENDPOINTS,
)

OPERATIONS = (OBTAIN_TOKEN, *(endpoint.operation for endpoint in ENDPOINTS))

# The chapters of the reference, each with its introduction.
TAGS = {
    "Authentication": "A token for an hour, from a client id and secret the operator gave you.",
    "Uploads": "Files that debtors can download with their claim.",
    "Claims": "Hand claims over, see where each stands, change and end them.",
    "Communications": "What debtors were sent, word for word.",
    "Attachments": "The files of a claim: add, replace, download and delete them.",
    "Payments": "Tell the service what was paid elsewhere.",
    "Disputes": "What debtors object to, and your answer.",
    "Payment modalities": "Answer debtors who ask for a payment plan or a deferment.",
    "Workflows": "The processes claims can be assigned to.",
    "Assignments": "Which process a claim runs.",
    "Scenarios": "Legacy: what workflows are called until the merchant is switched to them.",
    "Events": "What happened to your claims, as the webhooks tell it.",
    "Sandbox": "A sandbox merchant's clock moves when you say so.",
}
