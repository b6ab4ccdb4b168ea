// Adds a copy button to everything that can be copied ([data-copy]). The texts come from the page:
// [data-copied], a status line that says what was copied.
const status = document.querySelector("[data-copied]");

if (status && navigator.clipboard) {
  for (const place of document.querySelectorAll("[data-copy]")) {
    const name = place.parentElement.querySelector("dt").textContent;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = status.dataset.label;
    button.setAttribute("aria-label", `${status.dataset.label}: ${name}`);
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(place.dataset.copy);
      status.textContent = `${status.dataset.copied}: ${name}`;
    });
    place.append(" ", button);
  }
}
