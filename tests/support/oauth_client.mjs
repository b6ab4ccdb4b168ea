// Asks for tokens, and uses them, with the library that merchants in JavaScript do it with.
// In: a JSON array of {way, tokenEndpoint, clientId, clientSecret} and {token, url}.
// Out: a JSON array of tokens' answers, statuses, and refusals {status, error}.
import { text } from "node:stream/consumers";

const oauth = await import(process.argv[2]);
const ways = { form: oauth.ClientSecretPost, basic: oauth.ClientSecretBasic };

const configure = ({ tokenEndpoint, clientId, clientSecret, way }) => {
  const server = { issuer: "http://127.0.0.1", token_endpoint: tokenEndpoint };
  const authenticate = ways[way ?? "form"](clientSecret);
  const config = new oauth.Configuration(server, clientId, undefined, authenticate);
  oauth.allowInsecureRequests(config);
  return config;
};

const obtain = async (asked) => {
  const { access_token, token_type, expires_in } = await oauth.clientCredentialsGrant(configure(asked));
  return { access_token, token_type, expires_in };
};

const use = async ({ token, url }) => {
  const config = configure({ clientId: "-", clientSecret: "-" });
  const answer = await oauth.fetchProtectedResource(config, token, new URL(url), "GET");
  return { status: answer.status };
};

const results = [];
for (const asked of JSON.parse(await text(process.stdin))) {
  try {
    results.push(await (asked.token ? use(asked) : obtain(asked)));
  } catch (refusal) {
    results.push({ status: refusal.status ?? 0, error: refusal.error ?? refusal.code });
  }
}
console.log(JSON.stringify(results));
