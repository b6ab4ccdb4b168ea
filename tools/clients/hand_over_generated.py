"""A merchant's program over the Python client that openapi-generator generates. It creates claims
of which one fails, reads, changes and assigns the other, and follows events. Called with base
address, merchant, client id and client secret.
"""

import sys
from datetime import date, datetime
from uuid import UUID

from dunwell_generated import (
    ApiClient,
    AssignmentRequest,
    AssignmentsApi,
    AuthenticationApi,
    ClaimsApi,
    ClaimStatus,
    ClaimSubmission,
    Configuration,
    ContactPatch,
    CreatedClaim,
    EscalatedEvent,
    EventsApi,
    EventType,
    FailedClaim,
    ItemSubmission,
    ItemType,
    ReplayRequest,
    ValidationFailure,
    WorkflowsApi,
)
from dunwell_generated.exceptions import NotFoundException


def make_claim(reference: str, due_date: str) -> ClaimSubmission:
    item = ItemSubmission(
        reference=reference,
        type=ItemType.PRIMARY,
        value="4990",
        itemDate=date(2026, 1, 15),
        dueDate=date.fromisoformat(due_date),
    )
    return ClaimSubmission(
        referenceNumber=reference,
        currency="EUR",
        debtorName="Erika",
        debtorLastName="Mustermann",
        email="erika@example.org",
        items=[item],
    )


def sign_in(base_url: str, client_id: str, client_secret: str) -> ApiClient:
    configuration = Configuration(host=base_url)
    token = AuthenticationApi(ApiClient(configuration)).obtain_token(
        grant_type="client_credentials", client_id=client_id, client_secret=client_secret
    )
    configuration.access_token = token.access_token
    return ApiClient(configuration)


def create(claims: ClaimsApi, merchant_id: int) -> int:
    claim_id = 0
    submitted = [make_claim("CLIENT-1", "2026-01-29"), make_claim("CLIENT-2", "2026-01-01")]
    for each in claims.create_claims(merchant_id, submitted, "python-1").result:
        match each.actual_instance:
            case CreatedClaim() as created:
                claim_id = created.id
                print(created.reference_number, "created")
            case FailedClaim() as failed:
                error = failed.error.actual_instance
                assert isinstance(error, ValidationFailure)
                print(failed.reference_number, error.details.errors[0].code)
    return claim_id


def follow_events(events: EventsApi, merchant_id: int) -> None:
    first: datetime | None = None
    for each in events.list_events(merchant_id, limit=10, type=EventType.ESCALATED).result.items:
        escalated = each.actual_instance
        assert isinstance(escalated, EscalatedEvent)
        first = first or escalated.var_date
        channel = escalated.claim.communication.channel
        print(f"{escalated.type} {escalated.action_step.name}: {channel.value}")
    assert first is not None
    wanted = ReplayRequest(since=first, types=[EventType.ESCALATED])
    print("replayed", events.replay_events(merchant_id, wanted).result.replayed)
    for endpoint in events.find_webhook_endpoints(merchant_id, limit=10).result.items:
        reason = "null" if endpoint.reason is None else endpoint.reason.value
        print(endpoint.state.value, reason, endpoint.url)


def main(base_url: str, merchant: str, client_id: str, client_secret: str) -> None:
    merchant_id = int(merchant)
    client = sign_in(base_url, client_id, client_secret)
    claims = ClaimsApi(client)
    claim_id = create(claims, merchant_id)
    claim = claims.read_claim(merchant_id, claim_id).result
    status: ClaimStatus = claim.status
    print(claim.reference_number, status.value, claim.items[0].type.value, claim.total)
    patch = ContactPatch(email="erika.mustermann@example.org")
    print(claims.change_claim(merchant_id, claim_id, patch).result.email)
    follow_events(EventsApi(client), merchant_id)
    workflow_id: UUID = WorkflowsApi(client).list_workflows(merchant_id).result[0].id
    request = AssignmentRequest(claimIds=[claim_id])
    assigned = AssignmentsApi(client).assign_to_workflow(merchant_id, workflow_id, request)
    for result in assigned.result:
        is_assigned = (result.claim_id, result.workflow_id) == (claim_id, workflow_id)
        print("assigned", str(is_assigned).lower())
    try:
        claims.read_claim(merchant_id, 2**63 - 1)
    except NotFoundException as error:
        print(error.status)


if __name__ == "__main__":
    main(*sys.argv[1:])
