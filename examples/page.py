"""A text browser: it reads the text of a page, follows its links and presses its buttons.

It keeps cookies and follows redirects like a debtor's browser. It runs no JavaScript, because
Dunwell's pages need none. Nothing in this module depends on Dunwell.
"""

from dataclasses import dataclass, field
from html.parser import HTMLParser
from types import TracebackType
from typing import Self
from urllib.parse import urljoin, urlsplit

import aiohttp

_VOID = ("input", "link", "meta", "br", "img", "hr")


class PageBroken(Exception):  # noqa: N818 - names what happened
    """A page returned an error or lacks the expected link or button."""


@dataclass
class Form:
    method: str
    action: str
    fields: dict[str, str] = field(default_factory=dict)


@dataclass
class Control:
    """A link or button with its text and its target."""

    words: str
    href: str | None = None
    form: Form | None = None
    # The name and value of a button.
    name: str | None = None
    value: str = ""


class PageReader(HTMLParser):
    """Collects the heading, text, links, forms and buttons of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.heading = ""
        self.words: list[str] = []
        self.controls: list[Control] = []
        self._form: Form | None = None
        self._open: list[str] = []
        self._control: Control | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag not in _VOID:
            self._open.append(tag)
        if tag == "form":
            self._form = Form(given.get("method", "get").upper(), given.get("action", ""))
        elif tag == "a" and "href" in given:
            self._control = Control("", href=given["href"])
        elif tag == "button" and self._form is not None:
            name, value = given.get("name"), given.get("value", "")
            self._control = Control("", form=self._form, name=name, value=value)
        elif tag == "input" and self._form is not None and "name" in given:
            is_choice = given.get("type") in ("radio", "checkbox")
            if "checked" in given or not is_choice:
                usual = "on" if is_choice else ""
                self._form.fields[given["name"]] = given.get("value", usual)

    def handle_endtag(self, tag: str) -> None:
        if tag in self._open:
            while self._open.pop() != tag:
                pass
        if tag == "form":
            self._form = None
        if tag in ("a", "button") and self._control is not None:
            self.controls.append(self._control)
            self._control = None

    def handle_data(self, data: str) -> None:
        text = " ".join(data.split())
        if not text or "style" in self._open or "title" in self._open:
            return
        self.words.append(text)
        if "h1" in self._open:
            self.heading = f"{self.heading} {text}".strip()
        if self._control is not None:
            self._control.words = f"{self._control.words} {text}".strip()


class Browser:
    """One person's browser. `heading` and `words` belong to the page that is open."""

    def __init__(self) -> None:
        self.url = ""
        self._page = PageReader()
        # Also keep cookies of hosts that are IP addresses, such as 127.0.0.1.
        jar = aiohttp.CookieJar(unsafe=True)
        self._http = aiohttp.ClientSession(cookie_jar=jar, timeout=aiohttp.ClientTimeout(total=30))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        await self._http.close()

    @property
    def heading(self) -> str:
        return self._page.heading

    @property
    def words(self) -> str:
        return " ".join(self._page.words)

    async def open(self, url: str) -> None:
        await self._ask("GET", url, None)

    async def press(self, words: str, **typed: str) -> None:
        """Follow the link or press the button whose text begins with `words`.

        `typed` has the values for the fields of the form, by their names.
        """
        controls = self._page.controls
        control = next((each for each in controls if each.words.startswith(words)), None)
        if control is None:
            known = ", ".join(each.words for each in controls)
            raise PageBroken(f'"{self.heading}" has no "{words}", but: {known}')
        if control.form is None:
            await self._ask("GET", urljoin(self.url, control.href or ""), None)
            return
        fields = control.form.fields | typed
        if control.name is not None:
            fields[control.name] = control.value
        await self._ask(control.form.method, urljoin(self.url, control.form.action), fields)

    async def _ask(self, method: str, url: str, fields: dict[str, str] | None) -> None:
        headers = {"Accept": "text/html", "Accept-Language": "en"}
        if method == "POST":
            where = urlsplit(self.url)
            headers["Origin"] = f"{where.scheme}://{where.netloc}"
        data, query = (fields, None) if method == "POST" else (None, fields)
        async with self._http.request(
            method, url, data=data, params=query, headers=headers
        ) as answer:
            text = await answer.text()
            self.url = str(answer.url)
        self._page = PageReader()
        self._page.feed(text)
        if answer.status != 200:
            raise PageBroken(f"{method} {self.url}: {answer.status} {self.heading}")
