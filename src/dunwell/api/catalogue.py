"""Every operation of the API, in the order of the reference, and the endpoints that serve them."""

from dunwell.api.routes import claims, events, payments, processes, sandbox, uploads
from dunwell.api.routes.token import OBTAIN_TOKEN

ENDPOINTS = (
    *uploads.ENDPOINTS,
    *claims.ENDPOINTS,
    *payments.ENDPOINTS,
    *processes.ENDPOINTS,
    *events.ENDPOINTS,
    *sandbox.ENDPOINTS,
)

OPERATIONS = (OBTAIN_TOKEN, *(endpoint.operation for endpoint in ENDPOINTS))

# The reference's chapters, with a sentence each.
TAGS = {
    "Authentication": "A token for an hour, from a client id and secret the operator gave you.",
    "Uploads": "Files that debtors can download with their claim.",
    "Claims": "Hand claims over, and see where each stands.",
    "Payments": "Tell the service what was paid elsewhere.",
    "Workflows": "The processes claims can be assigned to.",
    "Assignments": "Which process a claim runs.",
    "Events": "What happened to your claims, as the webhooks tell it.",
    "Sandbox": "A sandbox merchant's clock moves when you say so.",
}
