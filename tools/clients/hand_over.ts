// A merchant's program over types that openapi-typescript generates: hands a claim over without
// attachments, reads an error, and tells events apart. Called with base address, merchant, client id
// and client secret.
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

type Schemas = components["schemas"];

const [baseUrl = "", merchant = "", clientId = "", clientSecret = ""] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl });
const path = { merchant_id: Number(merchant) };

function tell(event: Schemas["Event"]): string {
  switch (event.type) {
    case "ESCALATED":
      return `${event.type} ${event.actionStep.name}: ${event.claim.communication.channel}`;
    case "FEE_ADDED":
      return `${event.type} ${event.claim.fee.value} ${event.claim.fee.currency}`;
    case "CHECKPOINT_REACHED":
      return `${event.type} ${event.claim.details.message}`;
    case "DETAILS_ACCESSED":
      return `${event.type} ${event.claim.details.communicationType ?? "untraced"}`;
    case "PAYMENT_IN_PROGRESS":
      return `${event.type} ${event.claim.payment.reference}`;
    case "PAYMENT_COMPLETED":
      return `${event.type} ${event.claim.payment.transactionId}`;
    case "PAYMENT_MODALITY_STATE_CHANGE":
      return `${event.type} ${event.claim.paymentModality.state}`;
    case "DISPUTED":
      return `${event.type} ${event.claim.disputeReason.type}`;
    default:
      return event.type;
  }
}

function claimOf(reference: string, value: string): Schemas["ClaimSubmission"] {
  return {
    referenceNumber: reference,
    currency: "EUR",
    debtorName: "Erika",
    debtorLastName: "Mustermann",
    email: "erika@example.org",
    items: [{ reference, type: "PRIMARY", value }],
  };
}

const token = await client.POST("/token", {
  body: { grant_type: "client_credentials", client_id: clientId, client_secret: clientSecret },
  headers: { "Content-Type": "application/x-www-form-urlencoded" },
});
if (token.error) throw new Error(token.error.error);
client.use({
  onRequest({ request }) {
    request.headers.set("Authorization", `Bearer ${token.data.access_token}`);
    return request;
  },
});

const created = await client.POST("/merchants/{merchant_id}/claims", {
  params: { path },
  body: [claimOf("CLIENT-1", "4990"), claimOf("CLIENT-2", "none")],
});
if (created.error) throw new Error(created.error.error.message);
const results: Schemas["ClaimCreationResult"][] = created.data.result;
for (const each of results) {
  if (typeof each.id === "number") {
    console.log(`${each.referenceNumber} created`);
  } else if (typeof each.error === "object" && each.error?.type === "ValidationError") {
    console.log(`${each.referenceNumber} ${each.error.details.errors[0]?.code}`);
  }
}

const events = await client.GET("/merchants/{merchant_id}/events", { params: { path } });
if (events.error) throw new Error(events.error.error.message);
for (const event of events.data.result.items) console.log(tell(event));

const download = await client.GET(
  "/merchants/{merchant_id}/claims/{claim_id}/attachments/{attachment_id}/content",
  {
    params: { path: { ...path, claim_id: 1, attachment_id: "01955c04-1180-7f02-a6de-31b2c3d4e5f6" } },
    parseAs: "blob",
  },
);
console.log(download.data ? download.data.size : download.error.error.type);
