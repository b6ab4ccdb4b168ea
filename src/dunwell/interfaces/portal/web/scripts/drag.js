// Lets users move the steps of a list ([data-drag]) by dragging; the buttons of each step do the
// same. The form [data-move] sends the new position, and the server moves the step.
let dragged = null;

const stepOf = (target) => target instanceof Element && target.closest("[data-drag] > [data-step]");
const clear = () => {
  for (const each of document.querySelectorAll(".drop-before, .drop-behind"))
    each.classList.remove("drop-before", "drop-behind");
};
const isBefore = (step, event) => {
  const box = step.getBoundingClientRect();
  return event.clientY < box.top + box.height / 2;
};
// The id of the step after which a step dropped here is placed; "" places it first.
const placeOf = (step, event) => {
  if (!isBefore(step, event)) return step.dataset.step;
  const steps = [...document.querySelectorAll("[data-drag] > [data-step]")];
  return steps[steps.indexOf(step) - 1]?.dataset.step ?? "";
};

document.addEventListener("pointerdown", (event) => {
  const step = stepOf(event.target);
  if (step) step.draggable = !event.target.closest("a, button, input, summary");
});
document.addEventListener("dragstart", (event) => {
  dragged = stepOf(event.target);
  if (!dragged) return;
  event.dataTransfer.effectAllowed = "move";
  event.dataTransfer.setData("text/plain", dragged.dataset.step);
  dragged.classList.add("dragged");
});
document.addEventListener("dragover", (event) => {
  const step = stepOf(event.target);
  if (!dragged || !step) return;
  event.preventDefault();
  clear();
  step.classList.add(isBefore(step, event) ? "drop-before" : "drop-behind");
});
document.addEventListener("drop", (event) => {
  const step = stepOf(event.target);
  const form = document.querySelector("form[data-move]");
  if (!dragged || !step || !form) return;
  event.preventDefault();
  const after = placeOf(step, event);
  if (after === dragged.dataset.step || step === dragged) return;
  form.elements.step.value = dragged.dataset.step;
  form.elements.after.value = after;
  form.submit();
});
document.addEventListener("dragend", () => {
  dragged?.classList.remove("dragged");
  dragged = null;
  clear();
});
