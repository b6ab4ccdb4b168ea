"""All operations of the API in the order of the reference, and the endpoints that serve them."""

from dunwell.interfaces.api.routes import (
    attachments,
    claim_changes,
    claim_items,
    claim_reading,
    claims,
    communications,
    debits,
    disputes,
    events,
    modalities,
    movements,
    payment_lists,
    payments,
    payouts,
    refunds,
    sandbox,
    workflows,
)
from dunwell.interfaces.api.token import OBTAIN_TOKEN

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
    *refunds.ENDPOINTS,
    *movements.ENDPOINTS,
    *payouts.ENDPOINTS,
    *disputes.FIND_ENDPOINTS,
    *disputes.ENDPOINTS,
    *modalities.FIND_ENDPOINTS,
    *modalities.ENDPOINTS,
    *debits.ENDPOINTS,
    *workflows.ENDPOINTS,
    *workflows.SCENARIO_ENDPOINTS,
    *events.ENDPOINTS,
    *events.FIND_ENDPOINTS,
    *sandbox.ENDPOINTS,
)

OPERATIONS = (OBTAIN_TOKEN, *(endpoint.operation for endpoint in ENDPOINTS))

# The chapters of the reference, each with its introduction.
TAGS = {
    "Authentication": "Get an access token for one hour with your client id and secret.",
    "Uploads": "Upload files that debtors can download with their claim.",
    "Claims": "Create claims, read their status, change and end them.",
    "Communications": "Read the messages that debtors were sent.",
    "Attachments": "Add, replace, download and delete the files of a claim.",
    "Payments": (
        "Record payments that you received outside the service, refund payments, and list all "
        "payments, movements of money and payouts."
    ),
    "Disputes": "Read and open disputes, and respond to them.",
    "Payment modalities": "Approve or reject the payment plans and deferrals that debtors request.",
    "Direct debits": (
        "Read the mandates that debtors give for their payment plans, and the collections."
    ),
    "Workflows": "List the workflows to which claims can be assigned.",
    "Assignments": "Assign claims to workflows.",
    "Scenarios": "Legacy: workflows replace scenarios when the merchant is switched.",
    "Events": (
        "List and replay the events of your claims, with the bodies of the webhooks, and list your"
        " webhook endpoints."
    ),
    "Sandbox": "Read and advance the test clock of a sandbox merchant.",
}
