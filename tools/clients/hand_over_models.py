"""A merchant's program over the models that datamodel-code-generator generates: hands a claim over
without attachments, reads an error, and tells events apart. Called with base address, merchant,
client id and client secret.
"""

import sys

import httpx
from dunwell_models import (
    CheckpointReachedEvent,
    ClaimCreationResultListEnvelope,
    ClaimSubmission,
    CreatedClaim,
    DisputedEvent,
    EscalatedEvent,
    Event,
    EventListEnvelope,
    FailedClaim,
    FeeAddedEvent,
    ItemSubmission,
    ItemType,
    NotFoundEnvelope,
    PaymentCompletedEvent,
    Token,
    ValidationFailure,
)


def tell(event: Event) -> str:
    match event.root:
        case EscalatedEvent() as said:
            return f"{said.type} {said.actionStep.name}: {said.claim.communication.channel.value}"
        case FeeAddedEvent() as said:
            return f"{said.type} {said.claim.fee.value} {said.claim.fee.currency}"
        case CheckpointReachedEvent() as said:
            return f"{said.type} {said.claim.details.message}"
        case PaymentCompletedEvent() as said:
            return f"{said.type} {said.claim.payment.transactionId}"
        case DisputedEvent() as said:
            return f"{said.type} {said.claim.disputeReason.type}"
        case said:
            return said.type


def make_claim(reference: str, value: str) -> ClaimSubmission:
    return ClaimSubmission(
        referenceNumber=reference,
        currency="EUR",
        debtorName="Erika",
        debtorLastName="Mustermann",
        email="erika@example.org",
        items=[ItemSubmission(reference=reference, type=ItemType.PRIMARY, value=value)],
    )


def main(base_url: str, merchant: str, client_id: str, client_secret: str) -> None:
    client = httpx.Client()
    form = {"grant_type": "client_credentials", "client_id": client_id}
    answer = client.post(f"{base_url}/token", data={**form, "client_secret": client_secret})
    token = Token.model_validate_json(answer.content)
    client.headers["Authorization"] = f"Bearer {token.access_token}"
    base_url = f"{base_url}/merchants/{merchant}"
    claims = [make_claim("CLIENT-1", "4990"), make_claim("CLIENT-2", "4990")]
    sent = [each.model_dump(mode="json", exclude_unset=True) for each in claims]
    sent[1]["items"][0]["value"] = "none"  # the models refuse it themselves
    created = client.post(f"{base_url}/claims", json=sent)
    for each in ClaimCreationResultListEnvelope.model_validate_json(created.content).result:
        match each.root:
            case CreatedClaim() as result:
                print(result.referenceNumber, "created")
            case FailedClaim(error=error) as result if isinstance(error.root, ValidationFailure):
                print(result.referenceNumber, error.root.details.errors[0].code)
    events = client.get(f"{base_url}/events")
    for event in EventListEnvelope.model_validate_json(events.content).result.items:
        print(tell(event))
    attachment = "claims/1/attachments/01955c04-1180-7f02-a6de-31b2c3d4e5f6"
    absent = client.get(f"{base_url}/{attachment}/content")
    print(NotFoundEnvelope.model_validate_json(absent.content).error.type)


if __name__ == "__main__":
    main(*sys.argv[1:])
