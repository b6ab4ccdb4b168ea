"""The guides for merchants' developers, rendered from the Markdown files in `pages`, and the
templates that they share with the reference page.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template, select_autoescape
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

_markdown = MarkdownIt("commonmark", {"html": False})


def load_template(name: str) -> Template:
    return _open_environment().get_template(name)


@cache
def _open_environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("dunwell.interfaces.api.reference", "templates"),
        autoescape=select_autoescape(["html"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters["markdown"] = lambda text: Markup(_markdown.render(text))  # noqa: S704
    environment.filters["phrase"] = lambda text: Markup(_markdown.renderInline(text))  # noqa: S704
    return environment


INDEX_PATH = "/docs/guides"
GUIDES_STYLE_PATH = "/docs/guides.css"

# The order in the index. Guides that are not listed follow, sorted by name.
_ORDER = (
    "quick-start", "claims", "workflows", "attachments", "payments", "disputes",
    "payment-modalities", "communications", "events", "webhooks", "sandbox", "debtor-page",
    "errors", "migration-to-workflows", "deprecations",
)  # fmt: skip
_REWRITTEN_LINKS = {"../openapi.json": "/api/openapi.json"}


@dataclass(frozen=True, slots=True)
class Guide:
    name: str
    title: str
    # The first paragraph as plain text.
    summary: str
    html: str

    @property
    def path(self) -> str:
        return f"/docs/{self.name}"


def list_guides() -> list[Guide]:
    guides = [
        _build_guide(each.name.removesuffix(".md"), each.read_text("utf-8"))
        for each in _list_files()
    ]
    return sorted(guides, key=_get_sort_key)


def list_guide_paths() -> list[str]:
    """Return the addresses of the guides' pages."""
    return [f"/docs/{each.name.removesuffix('.md')}" for each in _list_files()]


def _list_files() -> list[Traversable]:
    folder = files("dunwell.interfaces.api.reference").joinpath("pages")
    return [each for each in folder.iterdir() if each.name.endswith(".md")]


def render_guide(guide: Guide, guides: Sequence[Guide], style_path: str) -> str:
    return _render_page(
        "guide.html", title=guide.title, guide=guide, guides=guides, style_path=style_path
    )


def render_index(guides: Sequence[Guide], style_path: str) -> str:
    return _render_page(
        "guides.html", title="Guides", guide=None, guides=guides, style_path=style_path
    )


def render_missing(guides: Sequence[Guide], style_path: str) -> str:
    """Render the page for an address below /docs that names no guide."""
    return _render_page(
        "missing.html", title="Page not found", guide=None, guides=guides, style_path=style_path
    )


def _get_sort_key(guide: Guide) -> tuple[int, str]:
    return _ORDER.index(guide.name) if guide.name in _ORDER else len(_ORDER), guide.name


def _render_page(template: str, **context: Any) -> str:
    return load_template(template).render(
        **context, index_path=INDEX_PATH, guides_style_path=GUIDES_STYLE_PATH, mark_safe=Markup
    )


def _build_guide(name: str, text: str) -> Guide:
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    parser.renderer.rules |= {  # type: ignore[attr-defined]
        "table_open": partial(_insert_html, '<div class="table" tabindex="0"><table>'),
        "table_close": partial(_insert_html, "</table></div>"),
        "fence": _render_code,
    }
    tokens = parser.parse(text)
    title, summary = (
        _get_first_text(tokens, "heading_open"),
        _get_first_text(tokens, "paragraph_open"),
    )
    for token, following in zip(tokens, [*tokens[1:], None], strict=True):
        if token.type == "heading_open" and following is not None:
            token.attrSet("id", _build_anchor(following.content))
        for child in token.children or ():
            _rewrite_link(child)
    return Guide(name, title, summary, parser.renderer.render(tokens, parser.options, {}))


def _get_first_text(tokens: Sequence[Token], kind: str) -> str:
    """Return the plain text of the first block of this kind."""
    start = next(i for i, token in enumerate(tokens) if token.type == kind)
    children = tokens[start + 1].children or ()
    return "".join(" " if each.type == "softbreak" else each.content for each in children)


def _rewrite_link(token: Token) -> None:
    """Replace a link to a Markdown file by a link to its page."""
    href = str(token.attrGet("href") or "")
    name, mark, anchor = href.partition("#")
    if token.type != "link_open" or ":" in name:
        return
    if name in _REWRITTEN_LINKS:
        token.attrSet("href", _REWRITTEN_LINKS[name])
    elif name.endswith(".md"):
        token.attrSet("href", f"/docs/{name.removesuffix('.md')}{mark}{anchor}")


def _build_anchor(heading: str) -> str:
    """Return the anchor of a heading, as Git hosting services build it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _insert_html(html: str, *_: Any) -> str:
    return html


def _render_code(tokens: Sequence[Token], index: int, *_: Any) -> str:
    """Render a code block that can be scrolled with the keyboard."""
    code = Markup.escape(tokens[index].content)
    return f'<pre tabindex="0"><code>{code}</code></pre>\n'
