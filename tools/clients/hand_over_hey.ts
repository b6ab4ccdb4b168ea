// A merchant's program over the client that hey-api generates. It creates claims of which one fails,
// reads, changes and assigns the other, and follows events. Called with base address, merchant, client
// id and client secret.
import { client } from "./hey/client.gen.js";
import {
  assignToWorkflow,
  changeClaim,
  createClaims,
  findWebhookEndpoints,
  listEvents,
  listWorkflows,
  obtainToken,
  readClaim,
  replayEvents,
} from "./hey/sdk.gen.js";
import type { ClaimStatus, ClaimSubmission } from "./hey/types.gen.js";

const [baseUrl = "", merchant = "", client_id = "", client_secret = ""] = process.argv.slice(2);
const merchant_id = Number(merchant);

function claimOf(referenceNumber: string, dueDate: string): ClaimSubmission {
  const item = { type: "PRIMARY", value: "4990", itemDate: "2026-01-15", dueDate } as const;
  return {
    referenceNumber,
    currency: "EUR",
    debtorName: "Erika",
    debtorLastName: "Mustermann",
    email: "erika@example.org",
    items: [{ reference: referenceNumber, ...item }],
  };
}

client.setConfig({ baseUrl });
const token = await obtainToken({
  body: { grant_type: "client_credentials", client_id, client_secret },
  throwOnError: true,
});
client.setConfig({ auth: token.data.access_token, throwOnError: true });

let claim_id = 0;
const created = await createClaims({
  path: { merchant_id },
  headers: { "Idempotency-Key": "hey-1" },
  body: [claimOf("CLIENT-1", "2026-01-29"), claimOf("CLIENT-2", "2026-01-01")],
  throwOnError: true,
});
for (const each of created.data.result) {
  if (each.id !== null) {
    claim_id = each.id;
    console.log(`${each.referenceNumber} created`);
  } else {
    if (each.error.type !== "ValidationError") throw new Error(each.error.message);
    console.log(`${each.referenceNumber} ${each.error.details.errors[0]?.code}`);
  }
}

const path = { merchant_id, claim_id };
const claim = (await readClaim({ path, throwOnError: true })).data.result;
const status: ClaimStatus = claim.status;
console.log(`${claim.referenceNumber} ${status} ${claim.items[0]?.type} ${claim.total}`);
const body = { email: "erika.mustermann@example.org" };
console.log((await changeClaim({ path, body, throwOnError: true })).data.result.email);

let since: string | undefined;
const listed = await listEvents({
  path: { merchant_id },
  query: { limit: 10, type: "ESCALATED" },
  throwOnError: true,
});
for (const each of listed.data.result.items) {
  if (each.type !== "ESCALATED") throw new Error(each.type);
  since ??= each.date;
  console.log(`${each.type} ${each.actionStep.name}: ${each.claim.communication.channel}`);
}
if (since === undefined) throw new Error("no event");
const replayed = await replayEvents({
  path: { merchant_id },
  body: { since, types: ["ESCALATED"] },
  throwOnError: true,
});
console.log(`replayed ${replayed.data.result.replayed}`);
const endpoints = await findWebhookEndpoints({
  path: { merchant_id },
  query: { limit: 10 },
  throwOnError: true,
});
for (const each of endpoints.data.result.items) {
  console.log(`${each.state} ${each.reason} ${each.url}`);
}

const workflows = await listWorkflows({ path: { merchant_id }, throwOnError: true });
const workflow_id = workflows.data.result[0]?.id ?? "";
const assigned = await assignToWorkflow({
  path: { merchant_id, workflow_id },
  body: { claimIds: [claim_id] },
  throwOnError: true,
});
for (const each of assigned.data.result) {
  console.log(`assigned ${each.claimId === claim_id && each.workflowId === workflow_id}`);
}
const absent = await readClaim({
  path: { merchant_id, claim_id: Number.MAX_SAFE_INTEGER },
  throwOnError: false,
});
console.log(absent.response?.status);
