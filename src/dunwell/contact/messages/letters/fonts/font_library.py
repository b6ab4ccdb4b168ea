"""The fonts in the folders an operator names, and the choice of those that a letter needs: none for
most, for Libertinus Serif comes along.

`libertinus.txt` and `others.txt` say which characters the fonts have that come with Typst; they are
written by `tools/write_font_coverage.py`.
"""

import mmap
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import structlog

from dunwell.contact.messages.letters.fonts.font_file import Face, is_within, read_faces

_ENDINGS = (".ttf", ".otf", ".ttc", ".otc")
_FOLDER = Path(__file__).parent
# Controls, and what shows nothing by itself: joiners, marks of direction, variants.
_INVISIBLE = ("Cc", "Cf", "Zl", "Zp")
_VARIANTS = (range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0))
# Of several that have the characters: upright book hands first, drawn ones last.
_LIKED = ("Serif", "Naskh")
_DISLIKED = ("Mono", "Display", "Kufi", "Rashi", "Looped", "Nastaliq", "UI", "Slanted", "Unjoined")
# One character each has many forms in these: whose they are is told by what else is written.
_KANA, _HANGUL, _BOPOMOFO = ("HIRAGANA", "KATAKANA"), ("HANGUL",), ("BOPOMOFO",)

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class FontFace:
    """One face of a file."""

    path: str
    index: int


@dataclass(frozen=True, slots=True)
class FontChoice:
    """faces: to be loaded beside what comes along, in this order. missing: scripts that no font has
    all characters of."""

    faces: tuple[FontFace, ...] = ()
    missing: tuple[str, ...] = ()


class FontLibrary:
    """Its folders are read when the first letter needs more than comes along."""

    def __init__(self, folders: Sequence[Path] = ()) -> None:
        self._folders = tuple(folders)

    def choose(self, text: str) -> FontChoice:
        """For all characters of a text; the same text gives the same choice."""
        if text.isascii():
            return FontChoice()
        needed = sorted(find_foreign(text))
        return self._choose(needed) if needed else FontChoice()

    def _choose(self, needed: Sequence[str]) -> FontChoice:
        starts, ends = _load_coverage("others")
        along = {each for each in needed if is_within(ord(each), starts, ends)}
        # Arrows and ticks look as good in what comes along; names have a hand of their own.
        signs = {each for each in along if unicodedata.category(each)[0] not in "LM"}
        left, chosen = set(needed) - signs, []
        region = _guess_region(needed)
        faces = _read_folders(self._folders)
        while left:
            best = max(faces, key=lambda each: _rate(each[1], left, region), default=None)
            if best is None or not any(map(best[1].has, left)):
                break
            chosen.append(FontFace(best[0], best[1].index))
            left -= {each for each in left if best[1].has(each)}
        left -= along
        return FontChoice(tuple(chosen), tuple(sorted({name_script(each) for each in left})))


def find_foreign(text: Iterable[str]) -> set[str]:
    """The characters that the font which comes along does not have."""
    starts, ends = _load_coverage("libertinus")
    return {
        each
        for each in set(text)
        if not is_within(ord(each), starts, ends) and not _is_invisible(each)
    }


def name_script(character: str) -> str:
    """The script's name in English, as "Tibetan"."""
    if unicodedata.category(character).startswith("S"):
        return "symbols"
    word = unicodedata.name(character, "unknown").split()[0].split("-")[0].capitalize()
    return "Han" if word == "Cjk" else word


def _is_invisible(character: str) -> bool:
    is_variant = any(ord(character) in each for each in _VARIANTS)
    return is_variant or unicodedata.category(character) in _INVISIBLE


def _rate(face: Face, left: set[str], region: str) -> tuple[int, bool, bool, bool, int, str]:
    name = face.name
    return (
        sum(map(face.has, left)),
        not any(word in name for word in _DISLIKED),
        any(word in name for word in _LIKED),
        name.removesuffix(" Regular").endswith(region),
        -len(name),
        name,
    )


def _guess_region(characters: Iterable[str]) -> str:
    words = {unicodedata.name(each, "?").split()[0] for each in characters}
    if words & set(_KANA):
        return "JP"
    if words & set(_HANGUL):
        return "KR"
    return "TC" if words & set(_BOPOMOFO) else "SC"


@cache
def _read_folders(folders: tuple[Path, ...]) -> Sequence[tuple[str, Face]]:
    """Upright ones of usual weight; of a file that is no font nothing, and it is told."""
    return [
        (str(path), face)
        for folder in folders
        for path in sorted(folder.rglob("*"))
        if path.suffix.lower() in _ENDINGS
        for face in _read_file(path)
        if face.is_regular
    ]


def _read_file(path: Path) -> Iterator[Face]:
    try:
        with path.open("rb") as file:
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            yield from read_faces(content)
    except (OSError, ValueError) as error:
        log.warning("font not read", path=str(path), error=type(error).__name__)


@cache
def _load_coverage(name: str) -> tuple[Sequence[int], Sequence[int]]:
    lines = (_FOLDER / f"{name}.txt").read_text().split()
    pairs = [line.partition("-") for line in lines]
    return (
        [int(start, 16) for start, _, _ in pairs],
        [int(end or start, 16) for start, _, end in pairs],
    )
