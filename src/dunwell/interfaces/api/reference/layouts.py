"""The templates of the reference and the guides, compiled once per process."""

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined, Template, select_autoescape
from markdown_it import MarkdownIt
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
