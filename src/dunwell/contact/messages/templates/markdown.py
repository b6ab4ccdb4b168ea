"""The Markdown subset of templates, compiled to parts that a message only has to fill in.

Supported are paragraphs, line breaks (each newline is one), bold, italics, lists, headings, and
links to https or the debtor's page. HTML and images are not supported. Placeholders are removed
before parsing and values are inserted afterwards, escaped, so that a debtor's name can neither add
markup nor inject code. Pure.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, wraps
from threading import Lock
from typing import TypeVar

from markdown_it import MarkdownIt

from dunwell.contact.messages.templates.compiled_text import (
    ITEMS_MARK,
    Part,
    find_link_destination,
    mark_placeholders,
    merge_literals,
    split_marked,
    unmark_placeholders,
)
from dunwell.contact.messages.templates.markdown_compilers import (
    Block,
    HtmlCompiler,
    LetterCompiler,
    TextCompiler,
)

_Result = TypeVar("_Result")
_RULES = (
    "list", "heading", "newline", "escape", "emphasis", "link",
    "balance_pairs", "fragments_join", "text_join",
)  # fmt: skip

# About 700 ordinary texts. In the worst case the result needs about a hundred bytes per character.
_MAX_KEPT_CHARACTERS = 1_000_000
_PLAIN_KINDS = frozenset({
    "paragraph_open", "paragraph_close", "inline", "text", "softbreak", "hardbreak",
})  # fmt: skip


def cache_by_size(
    max_characters: int,
) -> Callable[[Callable[[str], _Result]], Callable[[str], _Result]]:
    """Cache the results for the most recently used texts, up to a total number of characters. Can
    be used by several threads.

    `lru_cache` limits only the number of texts; with long texts it would keep gigabytes.
    """

    def decorate(make: Callable[[str], _Result]) -> Callable[[str], _Result]:
        kept, lock, length = OrderedDict[str, _Result](), Lock(), 0

        @wraps(make)
        def find_or_make(text: str) -> _Result:
            nonlocal length
            with lock:
                if text in kept:
                    kept.move_to_end(text)
                    return kept[text]
            # Two threads may compute the same result, which is better than making one wait.
            result = make(text)
            with lock:
                if text not in kept:
                    kept[text] = result
                    length += len(text)
                while length > max_characters:
                    length -= len(kept.popitem(last=False)[0])
            return result

        return find_or_make

    return decorate


@dataclass(frozen=True, slots=True)
class ParsedText:
    """A parsed text: parts of HTML and of plain text, blocks of a letter, and what cannot be
    used."""

    html: tuple[Part, ...]
    # True if a paragraph is a link to the debtor's page, which becomes a button.
    has_button: bool
    text: tuple[Part, ...]
    letter: tuple[Block, ...]
    # Destinations that are neither https nor the debtor's page.
    bad_links: tuple[str, ...]
    # True if {{ items }} shares a paragraph with other text.
    has_inline_items: bool


@cache_by_size(_MAX_KEPT_CHARACTERS)
def parse_markdown(text: str) -> ParsedText:
    """Compile a text whose snippets are expanded. Cached, because there are few texts and many
    messages."""
    tokens = _parser().parse(mark_placeholders(text))
    html, plain, letter = HtmlCompiler(), TextCompiler(), LetterCompiler()
    for token in tokens:
        html.add_token(token)
        plain.add_token(token)
        letter.add_token(token)
    inline = [t for t in tokens if t.type == "inline"]
    return ParsedText(
        html=merge_literals(html.parts),
        has_button=html.has_button,
        text=merge_literals(plain.parts),
        letter=tuple(letter.blocks),
        bad_links=tuple(
            unmark_placeholders(str(child.attrs["href"]))
            for token in inline
            for child in token.children or ()
            if child.type == "link_open" and find_link_destination(child) is None
        ),
        has_inline_items=any(
            ITEMS_MARK in token.content and token.content != ITEMS_MARK for token in inline
        ),
    )


def has_markup(text: str) -> bool:
    """Return whether Markdown finds anything but paragraphs and lines in the text."""
    tokens = _parser().parse(mark_placeholders(text))
    kinds = {each.type for token in tokens for each in (token, *(token.children or ()))}
    return not kinds <= _PLAIN_KINDS


@cache_by_size(_MAX_KEPT_CHARACTERS)
def parse_line(text: str) -> tuple[Part, ...]:
    """Compile a line without markup, such as a subject. Consecutive spaces become one."""
    return tuple(split_marked(mark_placeholders(" ".join(text.split())), "TEXT"))


@cache_by_size(_MAX_KEPT_CHARACTERS)
def parse_lines(text: str) -> tuple[Part, ...]:
    """Compile lines without markup, such as an SMS. Consecutive spaces become one; empty lines at
    the start and end are removed."""
    lines = (" ".join(line.split()) for line in text.strip().splitlines())
    return tuple(split_marked(mark_placeholders("\n".join(lines)), "TEXT"))


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    parser = MarkdownIt("zero").enable(list(_RULES))
    # `find_link_destination` checks destinations, because it knows placeholders.
    parser.normalizeLink = _keep_link  # type: ignore[method-assign]
    parser.validateLink = _accept_link  # type: ignore[method-assign]
    return parser


def _keep_link(url: str) -> str:
    return url


def _accept_link(url: str) -> bool:
    return bool(url)
