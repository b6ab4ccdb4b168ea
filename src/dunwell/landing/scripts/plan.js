// Shows the schedule of the offer that is chosen. The server has counted it: [data-plan-days] bears
// the days, parted by ";", and [data-plan-rates] how many rates there are of the one amount, and then
// of the other, as "2|€17.07|1|€17.06". An amount or a day of one's own is the server's to count.
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
    const offer = form.querySelector("[data-plan-days]:checked")?.dataset;
    const own = [...form.querySelectorAll(".date input")].some((each) => each.value.trim());
    preview.hidden = !offer || own;
    if (!preview.hidden) {
      const [count, first, , last] = offer.planRates.split("|");
      const rows = offer.planDays.split(";").map((day, place) => row(day, place < count ? first : last));
      preview.querySelector("tbody").replaceChildren(...rows);
    }
  });
}
