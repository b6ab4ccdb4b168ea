// Lets users drag the rows of a list ([data-order]). Dropping a row sends its form, as its buttons
// do. Without this script, the buttons do the same.
for (const list of document.querySelectorAll("[data-order]")) {
  let dragged = null;
  const rows = [...list.children];
  const leave = () => rows.forEach((row) => row.classList.remove("over"));

  for (const row of rows) {
    const grip = document.createElement("span");
    grip.className = "grip";
    grip.setAttribute("aria-hidden", "true");
    grip.textContent = "⠿";
    grip.draggable = true;
    row.prepend(grip);
    grip.addEventListener("dragstart", (event) => {
      dragged = row;
      event.dataTransfer.effectAllowed = "move";
      event.dataTransfer.setData("text/plain", row.dataset.place);
      event.dataTransfer.setDragImage(row, 0, 0);
    });
    row.addEventListener("dragover", (event) => {
      if (!dragged || dragged === row) return;
      event.preventDefault();
      leave();
      row.classList.add("over");
    });
    row.addEventListener("drop", (event) => {
      event.preventDefault();
      if (!dragged || dragged === row) return;
      const form = dragged.querySelector("form");
      form.elements.place.value = row.dataset.place;
      const wish = document.createElement("input");
      wish.type = "hidden";
      wish.name = "do";
      wish.value = "to";
      form.append(wish);
      form.submit();
    });
    row.addEventListener("dragend", () => {
      dragged = null;
      leave();
    });
  }
}
