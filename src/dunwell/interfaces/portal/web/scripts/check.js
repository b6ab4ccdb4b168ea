// Checks a form ([data-check]) while the user types: fetches the response of its "check" button
// and replaces the part that shows the faults ([data-checked], with an id). The fields are not
// touched.
const policy = globalThis.trustedTypes?.createPolicy("dunwell", { createHTML: (text) => text });
const parse = (text) =>
  new DOMParser().parseFromString(policy ? policy.createHTML(text) : text, "text/html");

for (const form of document.querySelectorAll("form[data-check]")) {
  const part = document.querySelector("[data-checked]");
  let latest = 0;
  let timer = 0;
  const check = async () => {
    const mine = ++latest;
    const body = new URLSearchParams(new FormData(form));
    body.set("do", "check");
    try {
      const answer = await fetch(form.action, { method: "POST", body, redirect: "error" });
      const fresh = parse(await answer.text()).getElementById(part.id);
      if (answer.ok && fresh && mine === latest) part.replaceChildren(...fresh.childNodes);
    } catch {
      // The next change tries again, and saving reports the faults in any case.
    }
  };
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(check, 200);
  });
}
