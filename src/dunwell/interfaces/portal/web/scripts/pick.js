// Shows how many rows of a list are selected. The checkbox in the table's head selects all rows of
// the page.
const all = document.querySelector("[data-pick-all]");

if (all) {
  const boxes = [...all.closest("table").querySelectorAll("tbody input[type=checkbox]")];
  const said = document.querySelector("[data-picked]");
  const tell = () => {
    const count = boxes.filter((each) => each.checked).length;
    all.checked = count === boxes.length;
    all.indeterminate = count > 0 && count < boxes.length;
    if (said) said.textContent = count ? said.dataset.picked.replace("0", count) : "";
  };
  all.closest("label").hidden = false;
  all.addEventListener("change", () => {
    for (const each of boxes) each.checked = all.checked;
    tell();
  });
  for (const each of boxes) each.addEventListener("change", tell);
  tell();
}
