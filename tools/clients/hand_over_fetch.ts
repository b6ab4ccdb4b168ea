// A merchant's program over the TypeScript client that openapi-generator generates. It creates claims
// of which one fails, reads, changes and assigns the other, and follows events. Called with base
// address, merchant, client id and client secret.
import {
  AssignmentsApi,
  AuthenticationApi,
  ClaimsApi,
  type ClaimStatus,
  type ClaimSubmission,
  Configuration,
  EventsApi,
  EventType,
  ItemType,
  ResponseError,
  WorkflowsApi,
} from "./fetch/index.js";

const [basePath = "", merchant = "", clientId = "", clientSecret = ""] = process.argv.slice(2);
const merchantId = Number(merchant);

function claimOf(referenceNumber: string, dueDate: string): ClaimSubmission {
  return {
    referenceNumber,
    currency: "EUR",
    debtorName: "Erika",
    debtorLastName: "Mustermann",
    email: "erika@example.org",
    items: [
      {
        reference: referenceNumber,
        type: ItemType.Primary,
        value: "4990",
        itemDate: new Date("2026-01-15"),
        dueDate: new Date(dueDate),
      },
    ],
  };
}

const token = await new AuthenticationApi(new Configuration({ basePath })).obtainToken({
  grantType: "client_credentials",
  clientId,
  clientSecret,
});
const configuration = new Configuration({ basePath, accessToken: token.accessToken });
const claims = new ClaimsApi(configuration);

let claimId = 0;
const created = await claims.createClaims({
  merchantId,
  claimSubmission: [claimOf("CLIENT-1", "2026-01-29"), claimOf("CLIENT-2", "2026-01-01")],
  idempotencyKey: "fetch-1",
});
for (const each of created.result) {
  if (typeof each.id === "number") {
    claimId = each.id;
    console.log(`${each.referenceNumber} created`);
  } else if (each.error !== null && typeof each.error === "object") {
    if (each.error.type !== "ValidationError") throw new Error(each.error.message);
    console.log(`${each.referenceNumber} ${each.error.details.errors[0]?.code}`);
  }
}

const claim = (await claims.readClaim({ merchantId, claimId })).result;
const status: ClaimStatus = claim.status;
console.log(`${claim.referenceNumber} ${status} ${claim.items[0]?.type} ${claim.total}`);
const contactPatch = { email: "erika.mustermann@example.org" };
console.log((await claims.changeClaim({ merchantId, claimId, contactPatch })).result.email);

const events = new EventsApi(configuration);
let since: Date | undefined;
const listed = await events.listEvents({ merchantId, limit: 10, type: EventType.Escalated });
for (const each of listed.result.items) {
  if (each.type !== "ESCALATED") throw new Error(each.type);
  since ??= each.date;
  console.log(`${each.type} ${each.actionStep.name}: ${each.claim.communication.channel}`);
}
if (since === undefined) throw new Error("no event");
const replayRequest = { since, types: [EventType.Escalated] };
const replayed = await events.replayEvents({ merchantId, replayRequest });
console.log(`replayed ${replayed.result.replayed}`);
const endpoints = await events.findWebhookEndpoints({ merchantId, limit: 10 });
for (const each of endpoints.result.items) console.log(`${each.state} ${each.reason} ${each.url}`);

const workflows = await new WorkflowsApi(configuration).listWorkflows({ merchantId });
const workflowId = workflows.result[0]?.id ?? "";
const assigned = await new AssignmentsApi(configuration).assignToWorkflow({
  merchantId,
  workflowId,
  assignmentRequest: { claimIds: [claimId] },
});
for (const each of assigned.result) {
  console.log(`assigned ${each.claimId === claimId && each.workflowId === workflowId}`);
}
try {
  await claims.readClaim({ merchantId, claimId: Number.MAX_SAFE_INTEGER });
} catch (error) {
  if (!(error instanceof ResponseError)) throw error;
  console.log(error.response.status);
}
