// Fetches a page anew while one of its parts ([data-live], with an id) is to be kept fresh, every so
// many seconds ([data-every]), and puts the part in place. What has not changed is answered by its
// ETag. It ends when the part that comes asks for no more, and rests while nobody looks.
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
      // The next round tries again.
    }
  }
  setTimeout(refresh, wait);
};

const first = document.querySelector("[data-live]");
if (first) setTimeout(refresh, Number(first.dataset.every) * 1000);
