// Selects or clears all checkboxes of a form. Without this script, the server renders the page
// again to do so. The button is named "tick" and has the value "all" or "none".
for (const button of document.querySelectorAll("[name=tick]")) {
  button.addEventListener("click", (event) => {
    event.preventDefault();
    for (const box of button.form.querySelectorAll("[type=checkbox]")) {
      box.checked = button.value === "all";
    }
  });
}
