// Fetches the page repeatedly, every [data-every] seconds, while one of its parts ([data-live],
// with an id) needs updates, and replaces that part. An unchanged page is answered by its ETag.
// Updates end when the new part has no [data-live], and pause while the page is hidden.
const policy = globalThis.trustedTypes?.createPolicy("dunwell", { createHTML: (text) => text });
const parse = (text) =>
  new DOMParser().parseFromString(policy ? policy.createHTML(text) : text, "text/html");
let etag = "";

const refresh = async () => {
  const part = document.querySelector("[data-live]");
  if (!part) return;
  const wait = Number(part.dataset.every) * 1000;
  if (!document.hidden && !part.contains(document.activeElement)) {
    try {
      const answer = await fetch(location.href, {
        headers: { Accept: "text/html", "If-None-Match": etag },
        redirect: "error",
      });
      if (answer.ok) {
        etag = answer.headers.get("ETag") ?? "";
        const fresh = parse(await answer.text()).getElementById(part.id);
        if (fresh) part.replaceWith(document.adoptNode(fresh));
      }
    } catch {
      // The next poll tries again.
    }
  }
  setTimeout(refresh, wait);
};

const first = document.querySelector("[data-live]");
if (first) setTimeout(refresh, Number(first.dataset.every) * 1000);
