// oidc-provider on a free port of loopback, with its own pages to sign in. Arguments: where the
// module is, Dunwell's origin, the client's id and secret. It says its issuer; whoever signs in is
// what a line says of them: {"erika": {"email": ..., "groups": [...]}}.
import { createServer } from "node:http";
import { createInterface } from "node:readline";

const [, , module, origin, client_id, client_secret] = process.argv;
const { default: Provider } = await import(module);
const here = `${origin}/portal/sign-in/with/kontor`;
const known = {};

const server = createServer();
await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
const issuer = `http://127.0.0.1:${server.address().port}`;
const provider = new Provider(issuer, {
  clients: [{
    client_id,
    client_secret,
    redirect_uris: [`${here}/back`],
    post_logout_redirect_uris: [`${origin}/portal/sign-in`],
    backchannel_logout_uri: `${here}/logout`,
    backchannel_logout_session_required: true,
  }],
  cookies: { keys: ["of this test alone"] },
  claims: { openid: ["sub"], email: ["email"], profile: ["name", "locale"], groups: ["groups"] },
  features: { backchannelLogout: { enabled: true } },
  findAccount: (_context, id) => ({
    accountId: id,
    claims: () => ({ sub: id, ...known[id] }),
  }),
});
provider.on("server_error", (_context, error) => console.error(error));
provider.on("backchannel.error", (_context, error) => console.error(error));
server.on("request", provider.callback());
process.stdout.write(`${JSON.stringify({ issuer })}\n`);
for await (const line of createInterface({ input: process.stdin })) {
  Object.assign(known, JSON.parse(line));
  process.stdout.write("{}\n");
}
server.close();
server.closeAllConnections();
