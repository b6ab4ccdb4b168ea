"""Forms of the settings as a browser sends them, with every ticked box and every text."""

from html.parser import HTMLParser
from typing import Any

import httpx

from tests.support.portal import OWN_FORM, Clerk

Sent = dict[str, Any]


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.forms: list[dict[str, list[str]]] = []
        self._is_open = False
        self._select: tuple[str, list[str], str | None] | None = None
        self._area: tuple[str, str] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "form":
            self._is_open = given.get("method") == "post"
            if self._is_open:
                self.forms.append({"": [given.get("action") or ""]})
        name = given.get("name")
        if not self._is_open or (name is None and tag != "option"):
            return
        if tag == "input" and given.get("type") != "file":
            is_box = given.get("type") in ("checkbox", "radio")
            if not is_box or "checked" in given:
                self._put(str(name), given.get("value") or "")
        elif tag == "select":
            self._select = (str(name), [], None)
        elif tag == "option" and self._select:
            chosen = given.get("value") or "" if "selected" in given else self._select[2]
            self._select = (self._select[0], [*self._select[1], given.get("value") or ""], chosen)
        elif tag == "textarea":
            self._area = (str(name), "")

    def handle_data(self, data: str) -> None:
        if self._area:
            self._area = (self._area[0], self._area[1] + data)

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._is_open = False
        elif tag == "select" and self._select:
            name, options, chosen = self._select
            self._put(name, (options or [""])[0] if chosen is None else chosen)
            self._select = None
        elif tag == "textarea" and self._area:
            self._put(self._area[0], self._area[1].removeprefix("\n"))
            self._area = None

    def _put(self, name: str, value: str) -> None:
        self.forms[-1].setdefault(name, []).append(value)


def read_form(page: str, having: str = "token") -> Sent:
    """Return the page's first form that has this field, ignoring the sign-out form."""
    reader = _Reader()
    reader.feed(page)
    for form in reader.forms:
        if having in form and not form[""][0].endswith("/sign-out"):
            return {name: values for name, values in form.items() if name}
    raise AssertionError("the page has no such form")


async def send(clerk: Clerk, path: str, fields: Sent) -> httpx.Response:
    """Submit the fields without those that are None."""
    given = {name: value for name, value in fields.items() if value is not None}
    return await clerk.post(path, given)


async def give(clerk: Clerk, path: str, fields: Sent, **files: bytes) -> httpx.Response:
    """Submit a form with files."""
    address = path if path.startswith("/portal") else clerk.at(path)
    named = {name: (f"{name}.bin", content) for name, content in files.items()}
    # httpx sends a multipart form only if it contains a file.
    clerk.page = await clerk.http.post(
        address, data=fields, files=named or {"none": ("", b"")}, headers=OWN_FORM
    )
    return clerk.page


async def save(clerk: Clerk, section: str, **typed: Any) -> httpx.Response:
    """Open a section, fill in its form, submit it and confirm the changes. Return the last
    response."""
    path = f"/settings/{section}"
    form = read_form((await clerk.get(path)).text, "revision")
    answer = await send(clerk, path, {**form, **{_name(each): typed[each] for each in typed}})
    if answer.status_code == 200 and "revision" in answer.text:
        answer = await send(clerk, path, {**read_form(answer.text, "revision"), "do": "save"})
    return answer


def _name(typed: str) -> str:
    """Return the name of a field: `legal__name` becomes "legal.name"."""
    return typed.replace("__", ".")
