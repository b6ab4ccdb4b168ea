// Asks for confirmation before the user leaves a page whose form ([data-dirty]) has unsaved
// entries.
const forms = [...document.querySelectorAll("form[data-dirty]")];
const read = (form) => new URLSearchParams(new FormData(form)).toString();
const before = new Map(forms.map((form) => [form, read(form)]));
let isSent = false;

for (const form of forms) form.addEventListener("submit", () => (isSent = true));

if (forms.length > 0) {
  window.addEventListener("beforeunload", (event) => {
    const isDirty = forms.some((form) => read(form) !== before.get(form));
    if (isDirty && !isSent) event.preventDefault();
  });
}
