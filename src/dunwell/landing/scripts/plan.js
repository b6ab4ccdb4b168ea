// Shows the schedule of the offer that is chosen. The server has counted it: [data-plan-rows] bears
// "day|amount" parted by ";". An amount or a day of one's own is the server's to count.
const form = document.querySelector("[data-plan]");
const preview = document.querySelector("[data-plan-preview]");

if (form && preview) {
  const cell = (tag, text) => {
    const made = document.createElement(tag);
    made.append(text);
    return made;
  };
  const row = (text) => {
    const [day, amount] = text.split("|");
    const [head, money, line] = [cell("th", day), cell("bdi", amount), cell("tr", "")];
    head.scope = "row";
    money.className = "money";
    line.append(head, cell("td", money));
    return line;
  };
  form.addEventListener("change", () => {
    const rows = form.querySelector("[data-plan-rows]:checked")?.dataset.planRows;
    const own = [...form.querySelectorAll(".date input")].some((each) => each.value.trim());
    preview.hidden = !rows || own;
    if (!preview.hidden) {
      preview.querySelector("tbody").replaceChildren(...rows.split(";").map(row));
    }
  });
}
