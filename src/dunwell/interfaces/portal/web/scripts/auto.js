// Checks a form ([data-auto]) while the user types, and also saves it if the attribute is "save".
// The server responds with the whole page. The faults, the state of the draft and the changes of
// other users are copied from it; fields that the user edits are not touched. Without this script,
// the form's button checks and saves. After an edit conflict, the form is saved only by its
// button.
const form = document.querySelector("form[data-auto]");
const state = form.querySelector("[data-state]");
const words = form.querySelector("template[data-words]").content;
const showState = (word) => {
  state.textContent = words.querySelector(`[data-word=${word}]`).textContent;
};
const savesAutomatically = form.dataset.auto === "save";
let timer = 0;
let nextAction = "";
let isBusy = false;
let isStopped = false;
// The button that was pressed while a request was running.
let pressed = null;

const post = (action) =>
  new Promise((done) => {
    const body = new URLSearchParams(new FormData(form));
    body.set("do", action);
    const request = new XMLHttpRequest();
    request.open("POST", location.href);
    request.responseType = "document";
    request.onload = () => done(request.response?.getElementById("told") ? request : null);
    request.onerror = () => done(null);
    request.send(body);
  });

const replacePart = (page, id) => {
  const [old, fresh] = [document.getElementById(id), page.getElementById(id)];
  // Do not move the focus while the user types.
  fresh?.querySelector("[autofocus]")?.removeAttribute("autofocus");
  if (old && fresh) old.replaceWith(document.adoptNode(fresh));
};

// Updates the fault of each field, and leaves its value as it is.
const showFaults = (page) => {
  for (const input of form.querySelectorAll("[id]:is(input, select, textarea)")) {
    const fresh = page.getElementById(input.id);
    if (!fresh) continue;
    for (const name of ["aria-invalid", "aria-describedby"]) {
      const value = fresh.getAttribute(name);
      if (value) input.setAttribute(name, value);
      else input.removeAttribute(name);
    }
    const [old, error] = [document, page].map((each) => each.getElementById(`${input.id}-error`));
    old?.remove();
    if (error) input.closest(".field").querySelector("label, legend").after(document.adoptNode(error));
  }
};

const run = async () => {
  if (isBusy || !nextAction || isStopped) return;
  const action = nextAction;
  [nextAction, isBusy] = ["", true];
  if (action === "save") showState("saving");
  const request = await post(action);
  isBusy = false;
  if (!request) {
    showState("away");
    return pressed ? send(pressed) : undefined;
  }
  const page = request.response;
  const revision = page.querySelector("form[data-auto] [name=revision]").value;
  showFaults(page);
  replacePart(page, "told");
  if (action === "save") {
    form.elements.revision.value = revision;
    isStopped = request.status === 409;
    if (isStopped) replacePart(page, "conflict");
    showState(isStopped ? "conflict" : request.status === 422 ? "faulty" : "saved");
  }
  if (pressed) return send(pressed);
  run();
};

// Send nothing automatically after the user has submitted the form.
const send = (button) => {
  clearTimeout(timer);
  [pressed, isStopped] = [null, true];
  form.requestSubmit(button);
};

const schedule = (action, wait) => {
  clearTimeout(timer);
  timer = setTimeout(() => {
    if (nextAction !== "save") nextAction = action;
    run();
  }, wait);
};

form.addEventListener("input", () => schedule("check", 60));
if (savesAutomatically) form.addEventListener("change", () => schedule("save", 0));
form.addEventListener("submit", (event) => {
  clearTimeout(timer);
  if (!isBusy) return;
  event.preventDefault();
  pressed = event.submitter;
});
