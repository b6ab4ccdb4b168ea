// Shows the schedule of the offer that is chosen. The server has counted it: [data-plan-days] bears
// the days, parted by ";", and its label how many rates there are of the one amount, as
// "2 × €17.07" in [data-plan-first], and then of the other, in [data-plan-last]. An amount or a day
// of one's own is counted for the page after this one, which shows every schedule.
const form = document.querySelector("[data-plan]");
const preview = document.querySelector("[data-plan-preview]");

if (form && preview) {
  const cell = (tag, text) => {
    const made = document.createElement(tag);
    made.append(text);
    return made;
  };
  const row = (day, amount) => {
    const [head, money, line] = [cell("th", day), cell("bdi", amount), cell("tr", "")];
    head.scope = "row";
    money.className = "money";
    line.append(head, cell("td", money));
    return line;
  };
  form.addEventListener("change", () => {
    const offer = form.querySelector("[data-plan-days]:checked");
    const own = [...form.querySelectorAll(".date input")].some((each) => each.value.trim());
    preview.hidden = !offer || own;
    if (!preview.hidden) {
      const find = (name) => offer.parentNode.querySelector(`[data-plan-${name}]`);
      const [first, last] = [find("first"), find("last")];
      const count = Number.parseInt(first.textContent);
      const amount = (place) => (place < count ? first : last).querySelector("bdi").textContent;
      const rows = offer.dataset.planDays.split(";").map((day, place) => row(day, amount(place)));
      preview.querySelector("tbody").replaceChildren(...rows);
    }
  });
}
