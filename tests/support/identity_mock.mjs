// oauth2-mock-server on a free port of loopback. Argument: where the module is. First it says its
// issuer; then each line it is given, as JSON, says what its next tokens are, and is answered.
import { createInterface } from "node:readline";

const { OAuth2Server } = await import(process.argv[2]);
const server = new OAuth2Server();
await server.issuer.keys.generate("RS256", { kid: "first" });
await server.start(0, "127.0.0.1");
server.issuer.url = `http://127.0.0.1:${server.address().port}`;

let claims = {};
server.service.on("beforeTokenSigning", (token) => {
  for (const [name, value] of Object.entries(claims)) {
    if (value === null) delete token.payload[name];
    else token.payload[name] = value;
  }
});

const answer = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);
answer({ issuer: server.issuer.url });
for await (const line of createInterface({ input: process.stdin })) {
  const asked = JSON.parse(line);
  claims = asked.claims ?? claims;
  // The new key takes the place, and the name, of the one before.
  if (asked.rotate) await server.issuer.keys.generate("RS256", { kid: "first" });
  const logout = asked.logout && {
    scopesOrTransform: (_header, payload) => Object.assign(payload, asked.logout),
  };
  answer({ token: logout ? await server.issuer.buildToken(logout) : "" });
}
await server.stop();
