import dunwell.ApiClient;
import dunwell.ApiException;
import dunwell.interfaces.api.AssignmentsApi;
import dunwell.interfaces.api.AuthenticationApi;
import dunwell.interfaces.api.ClaimsApi;
import dunwell.interfaces.api.EventsApi;
import dunwell.interfaces.api.WorkflowsApi;
import dunwell.model.AssignmentRequest;
import dunwell.model.AssignmentResult;
import dunwell.model.Claim;
import dunwell.model.ClaimCreationResult;
import dunwell.model.ClaimStatus;
import dunwell.model.ClaimSubmission;
import dunwell.model.ContactPatch;
import dunwell.model.CreatedClaim;
import dunwell.model.EscalatedEvent;
import dunwell.model.Event;
import dunwell.model.EventType;
import dunwell.model.FailedClaim;
import dunwell.model.FoundEndpoint;
import dunwell.model.ItemSubmission;
import dunwell.model.ItemType;
import dunwell.model.ReplayRequest;
import dunwell.model.ValidationFailure;
import java.time.OffsetDateTime;
import java.util.List;
import java.util.UUID;

/**
 * A merchant's program over the Java client that openapi-generator generates. It creates claims of
 * which one fails, reads, changes and assigns the other, and follows events. Called with base
 * address, merchant, client id and client secret.
 */
public class HandOver {
  public static void main(String[] given) throws ApiException {
    ApiClient client = new ApiClient();
    client.updateBaseUri(given[0]);
    long merchantId = Long.parseLong(given[1]);
    String token = new AuthenticationApi(client)
        .obtainToken("client_credentials", given[2], given[3]).getAccessToken();
    client.setRequestInterceptor(each -> each.header("Authorization", "Bearer " + token));
    ClaimsApi claims = new ClaimsApi(client);

    long claimId = 0;
    List<ClaimSubmission> submitted =
        List.of(makeClaim("CLIENT-1", "2026-01-29"), makeClaim("CLIENT-2", "2026-01-01"));
    for (ClaimCreationResult each : claims.createClaims(merchantId, submitted, "java-1").getResult()) {
      if (each.getActualInstance() instanceof CreatedClaim created) {
        claimId = created.getId();
        System.out.println(created.getReferenceNumber() + " created");
      } else {
        FailedClaim failed = each.getFailedClaim();
        ValidationFailure error = failed.getError().getValidationFailure();
        System.out.println(
            failed.getReferenceNumber() + " " + error.getDetails().getErrors().get(0).getCode());
      }
    }

    Claim claim = claims.readClaim(merchantId, claimId).getResult();
    ClaimStatus status = claim.getStatus();
    ItemType type = claim.getItems().get(0).getType();
    System.out.println(claim.getReferenceNumber() + " " + status + " " + type + " " + claim.getTotal());
    ContactPatch patch = new ContactPatch().email("erika.mustermann@example.org");
    System.out.println(claims.changeClaim(merchantId, claimId, patch).getResult().getEmail());

    EventsApi events = new EventsApi(client);
    OffsetDateTime first = null;
    for (Event each :
        events.listEvents(merchantId, null, 10, null, null, EventType.ESCALATED, null, null)
            .getResult().getItems()) {
      EscalatedEvent escalated = each.getEscalatedEvent();
      first = first == null ? escalated.getDate() : first;
      System.out.println(escalated.getType() + " " + escalated.getActionStep().getName() + ": "
          + escalated.getClaim().getCommunication().getChannel());
    }
    ReplayRequest range = new ReplayRequest().since(first).types(List.of(EventType.ESCALATED));
    System.out.println(
        "replayed " + events.replayEvents(merchantId, range, null).getResult().getReplayed());
    for (FoundEndpoint each :
        events.findWebhookEndpoints(merchantId, null, null, null, 10, null)
            .getResult().getItems()) {
      System.out.println(each.getState() + " " + each.getReason() + " " + each.getUrl());
    }

    UUID workflowId =
        new WorkflowsApi(client).listWorkflows(merchantId).getResult().get(0).getId();
    AssignmentRequest request = new AssignmentRequest().claimIds(List.of(claimId));
    for (AssignmentResult each :
        new AssignmentsApi(client).assignToWorkflow(merchantId, workflowId, request, null)
            .getResult()) {
      boolean isAssigned = each.getClaimId() == claimId && workflowId.equals(each.getWorkflowId());
      System.out.println("assigned " + isAssigned);
    }
    try {
      claims.readClaim(merchantId, Long.MAX_VALUE);
    } catch (ApiException error) {
      System.out.println(error.getCode());
    }
  }

  private static ClaimSubmission makeClaim(String reference, String dueDate) {
    ItemSubmission item = new ItemSubmission()
        .reference(reference).type(ItemType.PRIMARY).value("4990")
        .itemDate(java.time.LocalDate.parse("2026-01-15"))
        .dueDate(java.time.LocalDate.parse(dueDate));
    return new ClaimSubmission()
        .referenceNumber(reference).currency("EUR").debtorName("Erika")
        .debtorLastName("Mustermann").email("erika@example.org").addItemsItem(item);
  }
}
