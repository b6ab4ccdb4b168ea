// Reads a local file into the text field that [data-into] names. The file field is hidden without
// this script.
for (const input of document.querySelectorAll("input[type=file][data-into]")) {
  const text = document.getElementById(input.dataset.into);
  input.closest("[hidden]").hidden = false;
  input.addEventListener("change", async () => {
    const file = input.files[0];
    if (file) text.value = await file.text();
    input.value = "";
    text.focus();
  });
}
