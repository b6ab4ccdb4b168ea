// Keyboard shortcuts: "/" focuses the search, "g" and a letter open an area of the portal
// ([data-key]), "n" goes to the next entry of a list of tasks, "?" shows the list of shortcuts.
// They are ignored while the user types. A checkbox in the list turns them off.
const OFF = "dunwell-keys-off";
const list = document.querySelector("dialog[data-keys]");
const off = list?.querySelector("input");
let isGoing = false;

const isTyping = (target) => target.closest("input:not([type=checkbox]), textarea, select, dialog");

if (off) {
  off.checked = localStorage.getItem(OFF) === "yes";
  off.addEventListener("change", () => localStorage.setItem(OFF, off.checked ? "yes" : "no"));
  list.querySelector("label").hidden = false;
}

// Focus the first control of the entry after the one that has the focus, or of the first entry.
const focusNextEntry = () => {
  const entries = [...document.querySelectorAll("[data-entry]")];
  const current = entries.indexOf(document.activeElement.closest("[data-entry]"));
  const next = entries[current + 1] ?? entries[0];
  next.querySelector("button, input:not([type=hidden]), a")?.focus();
};

document.addEventListener("keydown", (event) => {
  const isOther = event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target);
  if (isOther || off?.checked) return;
  const wasGoing = isGoing;
  isGoing = event.key === "g" && !wasGoing;
  if (wasGoing) {
    document.querySelector(`a[data-key="${CSS.escape(event.key)}"]`)?.click();
  } else if (event.key === "/") {
    const search = document.querySelector("[data-search]");
    search?.focus();
    search?.select();
  } else if (event.key === "n" && document.querySelector("[data-entry]")) {
    focusNextEntry();
  } else if (event.key === "?" && list) {
    list.showModal();
  } else {
    return;
  }
  event.preventDefault();
});

document.querySelector("a[data-show-keys]")?.addEventListener("click", (event) => {
  if (!list) return;
  event.preventDefault();
  list.showModal();
});
