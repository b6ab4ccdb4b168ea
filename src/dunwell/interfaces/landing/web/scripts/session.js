// Warns five minutes before the session ends, and offers to extend it. It never takes the focus.
// The time comes from the page: [data-minutes] of the footer, rounded up.
const session = document.querySelector("[data-minutes]");
const warning = document.querySelector("[data-warning]");

if (session && warning) {
  const at = Date.now() + (session.dataset.minutes - 6) * 60_000;
  const warn = () => {
    if (Date.now() < at || warning.classList.contains("shown")) return;
    const [status, button] = warning.children;
    warning.classList.add("shown");
    button.hidden = false;
    status.textContent = warning.dataset.warning;
  };
  setTimeout(warn, Math.max(0, at - Date.now()) + 50);
  // Timers do not run while a device sleeps, so check when the page is visible again.
  document.addEventListener("visibilitychange", warn);
}
