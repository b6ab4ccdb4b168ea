// Show the schedule of the chosen offer. The server has computed it: [data-plan-days] holds the dates,
// separated by ";". [data-plan-first] holds how many instalments have the first amount, which is its
// text; [data-plan-last] holds the same for the last amount. A different amount or first date is
// computed for the next page, which shows every schedule.
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
      const count = Number.parseInt(first.dataset.planFirst);
      const amount = (place) => (place < count ? first : last).querySelector("bdi").textContent;
      const rows = offer.dataset.planDays.split(";").map((day, place) => row(day, amount(place)));
      preview.querySelector("tbody").replaceChildren(...rows);
    }
  });
}
