// Turns the pages of a file with the arrow keys ([data-turn] names the key), and shows the hidden
// text after a picture ([data-picture]) that could not be loaded.
const isOff = () => localStorage.getItem("dunwell-keys-off") === "yes";
const isElsewhere = (target) =>
  target.closest("input, textarea, select, dialog, summary") ||
  (target.scrollWidth > target.clientWidth && target.closest("[tabindex]"));

document.addEventListener("keydown", (event) => {
  const isOther = event.ctrlKey || event.metaKey || event.altKey || event.shiftKey;
  if (isOther || isOff() || isElsewhere(event.target)) return;
  const link = document.querySelector(`a[data-turn="${CSS.escape(event.key)}"]`);
  if (!link) return;
  event.preventDefault();
  link.click();
});

for (const picture of document.querySelectorAll("img[data-picture]")) {
  const tell = () => {
    picture.hidden = true;
    const words = picture.parentElement.querySelector("[hidden]:not(img)");
    if (words) words.hidden = false;
  };
  picture.addEventListener("error", tell);
  if (picture.complete && picture.naturalWidth === 0) tell();
}
