// Ticks all boxes of a form, or none, where the server would show the page anew to do it:
// a button named "tick", of the value "all" or "none".
for (const button of document.querySelectorAll("[name=tick]")) {
  button.addEventListener("click", (event) => {
    event.preventDefault();
    for (const box of button.form.querySelectorAll("[type=checkbox]")) {
      box.checked = button.value === "all";
    }
  });
}
