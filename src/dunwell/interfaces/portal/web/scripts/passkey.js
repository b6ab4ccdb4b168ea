// Asks the browser for a passkey, or creates one (form[data-passkey]: "get" or "create"), and
// submits the form with the result. The options come from the URL in data-ask. All fields of the
// form are sent there, or only those that data-send names.
const decode = (text) =>
  Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (each) => each.charCodeAt(0));
const encode = (buffer) =>
  btoa(String.fromCharCode(...new Uint8Array(buffer)))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
const readAll = (known) => (known ?? []).map((each) => ({ ...each, id: decode(each.id) }));

function readOptions(options) {
  const read = { ...options, challenge: decode(options.challenge) };
  if (options.user) read.user = { ...options.user, id: decode(options.user.id) };
  if (options.excludeCredentials) read.excludeCredentials = readAll(options.excludeCredentials);
  if (options.allowCredentials) read.allowCredentials = readAll(options.allowCredentials);
  return read;
}

function write(credential) {
  const given = credential.response;
  const response = {};
  for (const name of [
    "clientDataJSON",
    "attestationObject",
    "authenticatorData",
    "signature",
    "userHandle",
  ])
    if (given[name]) response[name] = encode(given[name]);
  return JSON.stringify({
    id: credential.id,
    rawId: encode(credential.rawId),
    type: credential.type,
    clientExtensionResults: {},
    response,
  });
}

async function ask(form) {
  const fields = new FormData(form);
  const sent = form.dataset.send?.split(" ") ?? [...fields.keys()];
  const body = new URLSearchParams([...fields].filter(([name]) => sent.includes(name)));
  const answer = await fetch(form.dataset.ask, { method: "POST", body });
  if (answer.status === 403) return "password";
  if (!answer.ok) return "failed";
  const publicKey = readOptions(await answer.json());
  const credential = await navigator.credentials[form.dataset.passkey]({ publicKey });
  form.elements.answer.value = write(credential);
  form.submit();
  return "";
}

for (const form of document.querySelectorAll("form[data-passkey]")) {
  if (!window.PublicKeyCredential) continue;
  form.hidden = false;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    for (const told of form.querySelectorAll("[data-told]")) told.hidden = true;
    const problem = await ask(form).catch(() => "failed");
    const told = problem && form.querySelector(`[data-told="${problem}"]`);
    if (told) told.hidden = false;
  });
}
