"""Puts a language's words into the templates before they are compiled.

Each language has templates of its own, so a text need not be looked up whenever a page is rendered.
Texts with a plural stay with Jinja's own extension, which looks them up by their number.
"""

import re
from gettext import NullTranslations

from jinja2.environment import Environment
from jinja2.ext import Extension
from markupsafe import Markup

_TEXT = re.compile(
    r"\{% trans (?P<facts>[^%]*)%\}"
    r"(?P<text>(?:(?!\{% (?:pluralize|endtrans) %\}).)*)\{% endtrans %\}",
    re.DOTALL,
)
# As the catalogues are read: a no-break space belongs to the text.
_BLANKS = " \t\r\n\f\v"
_BLANK = re.compile(f"[{_BLANKS}]+")
# Words that are given on to a macro, with their facts or without.
_GIVEN = re.compile(r'\bgettext\("(?P<text>[^"\\]*)"(?P<end>\)|, )')
_FACT = re.compile(r"\{\{ (\w+) \}\}")
_PLACE = re.compile(r"%\((\w+)\)s")


class TranslatedTemplates(Extension):
    """Reads `{% trans %}` blocks and `gettext("...")`; the environment's `words` are the
    language's."""

    def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:
        del name, filename
        words: NullTranslations = find_words(self.environment)
        whole = _TEXT.sub(lambda found: _translate(words, found), source)
        return _GIVEN.sub(lambda found: _give(words, found), whole)


def find_words(environment: Environment) -> NullTranslations:
    words: NullTranslations = environment.globals["words"]  # type: ignore[assignment]
    return words


def _translate(words: NullTranslations, found: re.Match[str]) -> str:
    """The text in the language, its facts in their places."""
    facts, text = found["facts"].strip(), _BLANK.sub(" ", found["text"].strip(_BLANKS))
    translated = words.gettext(_FACT.sub(r"%(\1)s", text))
    shown = _PLACE.sub(r"{{ \1 }}", translated)
    return f"{{% with {facts} %}}{shown}{{% endwith %}}" if facts else shown


def _give(words: NullTranslations, found: re.Match[str]) -> str:
    """A constant that is shown as it is; what is put into it is made safe."""
    text = words.gettext(found["text"]).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}" | safe | fill({"" if found["end"] == ", " else ")"}'


def fill(text: Markup, **facts: object) -> Markup:
    """The filter that puts facts into their places, made safe."""
    return text % facts
