// The editor of a template ([data-text]): inserts placeholders ([data-insert]) at the cursor, and
// updates the review of the text ([data-checked]) while the user types, with one request at a
// time.
const policy = globalThis.trustedTypes?.createPolicy("dunwell", { createHTML: (text) => text });
const parse = (text) =>
  new DOMParser().parseFromString(policy ? policy.createHTML(text) : text, "text/html");
const form = document.querySelector("form[data-text]");
const body = form?.elements.namedItem("body");
let last = body;
let isAsking = false;
let isChanged = false;

const ask = async () => {
  isChanged = true;
  if (isAsking) return;
  isAsking = true;
  while (isChanged) {
    isChanged = false;
    const typed = new URLSearchParams(new FormData(form));
    typed.set("do", "check");
    try {
      const answer = await fetch(location.href, { method: "POST", body: typed, redirect: "error" });
      const fresh = answer.ok && parse(await answer.text()).querySelector("[data-checked]");
      const part = document.querySelector("[data-checked]");
      if (fresh) part.replaceWith(document.adoptNode(fresh));
    } catch {
      // The next change tries again.
    }
  }
  isAsking = false;
};

if (form) {
  form.querySelector("[data-check]").hidden = true;
  form.addEventListener("input", ask);
  form.addEventListener("focusin", (event) => {
    if (event.target.matches("textarea, input[name=subject]")) last = event.target;
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-insert]");
    if (!button) return;
    event.preventDefault();
    last.focus();
    last.setRangeText(button.dataset.insert, last.selectionStart, last.selectionEnd, "end");
    ask();
  });
}
