"""A merchant's program over the client that openapi-python-client generates: hands a claim over
without attachments, reads an error, and tells events apart. Called with base address, merchant,
client id and client secret.
"""

import sys
from uuid import UUID

from dunwell_client import AuthenticatedClient, Client
from dunwell_client.api.attachments import download_attachment
from dunwell_client.api.authentication import obtain_token
from dunwell_client.api.claims import create_claims
from dunwell_client.api.events import list_events
from dunwell_client.models import (
    ArchivedEvent,
    CheckpointReachedEvent,
    ClaimCreationResultListEnvelope,
    ClaimSubmission,
    CreatedClaim,
    DetailsAccessedEvent,
    DisputedEvent,
    EscalatedEvent,
    EventListEnvelope,
    FeeAddedEvent,
    ItemSubmission,
    ItemType,
    MandateChangedEvent,
    NotFoundEnvelope,
    ObtainTokenBody,
    PaymentCompletedEvent,
    PaymentInProgressEvent,
    PaymentModalityStateChangeEvent,
    PaymentRefundedEvent,
    PaymentReversedEvent,
    Token,
    ValidationFailure,
)
from dunwell_client.types import File

Event = (
    ArchivedEvent
    | CheckpointReachedEvent
    | DetailsAccessedEvent
    | DisputedEvent
    | EscalatedEvent
    | FeeAddedEvent
    | MandateChangedEvent
    | PaymentCompletedEvent
    | PaymentInProgressEvent
    | PaymentModalityStateChangeEvent
    | PaymentRefundedEvent
    | PaymentReversedEvent
)


def tell(event: Event) -> str:
    match event:
        case EscalatedEvent():
            step, sent = event.action_step, event.claim.communication
            return f"{event.type_} {step.name}: {sent.channel.value}"
        case FeeAddedEvent():
            return f"{event.type_} {event.claim.fee.value} {event.claim.fee.currency}"
        case CheckpointReachedEvent():
            return f"{event.type_} {event.claim.details.message}"
        case PaymentCompletedEvent():
            return f"{event.type_} {event.claim.payment.transaction_id}"
        case DisputedEvent():
            return f"{event.type_} {event.claim.dispute_reason.type_}"
        case _:
            return event.type_


def make_claim(reference: str, value: str) -> ClaimSubmission:
    item = ItemSubmission(reference=reference, type_=ItemType.PRIMARY, value=value)
    return ClaimSubmission(
        reference_number=reference,
        currency="EUR",
        debtor_name="Erika",
        debtor_last_name="Mustermann",
        email="erika@example.org",
        items=[item],
    )


def sign_in(base_url: str, client_id: str, client_secret: str) -> AuthenticatedClient:
    form = ObtainTokenBody("client_credentials", client_id, client_secret)
    token = obtain_token.sync(client=Client(base_url), body=form)
    assert isinstance(token, Token), token
    return AuthenticatedClient(base_url, token.access_token)


def main(base_url: str, merchant: str, client_id: str, client_secret: str) -> None:
    merchant_id = int(merchant)
    client = sign_in(base_url, client_id, client_secret)
    claims = [make_claim("CLIENT-1", "4990"), make_claim("CLIENT-2", "none")]
    answer = create_claims.sync(merchant_id, client=client, body=claims)
    assert isinstance(answer, ClaimCreationResultListEnvelope), answer
    for each in answer.result:
        if isinstance(each, CreatedClaim):
            print(each.reference_number, "created")
        elif isinstance(each.error, ValidationFailure):
            print(each.reference_number, each.error.details.errors[0].code)
    events = list_events.sync(merchant_id, client=client)
    assert isinstance(events, EventListEnvelope), events
    for event in events.result.items:
        print(tell(event))
    attachment_id = UUID("01955c04-1180-7f02-a6de-31b2c3d4e5f6")
    download = download_attachment.sync(merchant_id, 1, attachment_id, client=client)
    if isinstance(download, File):
        print(len(download.payload.read()))
    elif isinstance(download, NotFoundEnvelope):
        print(download.error.type_)


if __name__ == "__main__":
    main(*sys.argv[1:])
