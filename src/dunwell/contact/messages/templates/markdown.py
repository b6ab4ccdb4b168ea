"""The Markdown subset of templates, compiled to parts that a message only fills in.

Paragraphs, line breaks (each newline is one), bold, italic, lists, headings, links to https or to
the landing page; no HTML, no images. Placeholders are cut out before parsing and values are put in
after it, escaped, so that what a debtor is called can neither mark up nor inject. Pure.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, wraps
from threading import Lock
from typing import TypeVar

from markdown_it import MarkdownIt

from dunwell.contact.messages.templates.compiled_text import (
    ITEMS_ALONE,
    Part,
    find_link,
    join,
    mark,
    split,
    unmark,
)
from dunwell.contact.messages.templates.markdown_compilers import (
    Block,
    HtmlCompiler,
    LetterCompiler,
    TextCompiler,
)

_Made = TypeVar("_Made")
_RULES = (
    "list", "heading", "newline", "escape", "emphasis", "link",
    "balance_pairs", "fragments_join", "text_join",
)  # fmt: skip

# Some 700 usual texts. What is made of the worst one takes about a hundred bytes a character.
_MOST_KEPT_CHARACTERS = 1_000_000
_PLAIN_KINDS = frozenset({
    "paragraph_open", "paragraph_close", "inline", "text", "softbreak", "hardbreak",
})  # fmt: skip


def cache_by_size(
    most_characters: int,
) -> Callable[[Callable[[str], _Made]], Callable[[str], _Made]]:
    """Keep what the function makes of the texts used last, as long as all of them together have at
    most so many characters. Threads may call it at the same time.

    `lru_cache` bounds the number of texts alone: of long ones it would keep gigabytes."""

    def decorate(make: Callable[[str], _Made]) -> Callable[[str], _Made]:
        kept, lock, length = OrderedDict[str, _Made](), Lock(), 0

        @wraps(make)
        def find_or_make(text: str) -> _Made:
            nonlocal length
            with lock:
                if text in kept:
                    kept.move_to_end(text)
                    return kept[text]
            # Two threads may make the same: better than that one waits for the other.
            made = make(text)
            with lock:
                if text not in kept:
                    kept[text] = made
                    length += len(text)
                while length > most_characters:
                    length -= len(kept.popitem(last=False)[0])
            return made

        return find_or_make

    return decorate


@dataclass(frozen=True, slots=True)
class Parsed:
    """A text as parts of HTML and of plain text, as blocks of a letter, and what in it cannot be
    used."""

    html: tuple[Part, ...]
    # Whether a paragraph is the way to the debtor's page, and so a button.
    has_button: bool
    text: tuple[Part, ...]
    letter: tuple[Block, ...]
    # Destinations that are neither https nor the landing page's address.
    bad_links: tuple[str, ...]
    has_items_in_line: bool


@cache_by_size(_MOST_KEPT_CHARACTERS)
def parse_markdown(text: str) -> Parsed:
    """Compile a text whose snippets are expanded. Cached: texts are few, messages many."""
    tokens = _parser().parse(mark(text))
    html, plain, letter = HtmlCompiler(), TextCompiler(), LetterCompiler()
    for token in tokens:
        html.take(token)
        plain.take(token)
        letter.take(token)
    inline = [t for t in tokens if t.type == "inline"]
    return Parsed(
        html=join(html.parts),
        has_button=html.has_button,
        text=join(plain.parts),
        letter=tuple(letter.blocks),
        bad_links=tuple(
            unmark(str(child.attrs["href"]))
            for token in inline
            for child in token.children or ()
            if child.type == "link_open" and find_link(child) is None
        ),
        has_items_in_line=any(
            ITEMS_ALONE in token.content and token.content != ITEMS_ALONE for token in inline
        ),
    )


def has_markup(text: str) -> bool:
    """Whether Markdown would read anything in it but paragraphs and their lines."""
    tokens = _parser().parse(mark(text))
    kinds = {each.type for token in tokens for each in (token, *(token.children or ()))}
    return not kinds <= _PLAIN_KINDS


@cache_by_size(_MOST_KEPT_CHARACTERS)
def parse_line(text: str) -> tuple[Part, ...]:
    """Compile a line without markup, a subject: blanks are folded."""
    return tuple(split(mark(" ".join(text.split())), "TEXT"))


@cache_by_size(_MOST_KEPT_CHARACTERS)
def parse_lines(text: str) -> tuple[Part, ...]:
    """Compile lines without markup, an SMS: blanks are folded, empty lines at the ends dropped."""
    lines = (" ".join(line.split()) for line in text.strip().splitlines())
    return tuple(split(mark("\n".join(lines)), "TEXT"))


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    parser = MarkdownIt("zero").enable(list(_RULES))
    # Destinations are judged by find_link, which knows placeholders.
    parser.normalizeLink = _keep_link  # type: ignore[method-assign]
    parser.validateLink = _accept_link  # type: ignore[method-assign]
    return parser


def _keep_link(url: str) -> str:
    return url


def _accept_link(url: str) -> bool:
    return bool(url)
