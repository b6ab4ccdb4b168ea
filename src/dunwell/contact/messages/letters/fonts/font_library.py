"""The fonts in the operator's folders, and the choice of those that a letter needs. Most letters
need none, because Libertinus Serif is included.

`libertinus.txt` and `others.txt` list the characters of the fonts that Typst includes;
`tools/write_font_coverage.py` writes them.
"""

import mmap
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import structlog

from dunwell.contact.messages.letters.fonts.font_file import FontFileFace, is_within, parse_faces

_ENDINGS = (".ttf", ".otf", ".ttc", ".otc")
_FOLDER = Path(__file__).parent
# Control and format characters, which show nothing: joiners, direction marks, variation selectors.
_INVISIBLE = ("Cc", "Cf", "Zl", "Zp")
_VARIANTS = (range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0))
# Preferences among fonts that have the characters: upright text fonts first, decorative ones last.
_PREFERRED = ("Serif", "Naskh")
_AVOIDED = ("Mono", "Display", "Kufi", "Rashi", "Looped", "Nastaliq", "UI", "Slanted", "Unjoined")
# Han characters differ by region; the other scripts in the text show which region is meant.
_KANA, _HANGUL, _BOPOMOFO = ("HIRAGANA", "KATAKANA"), ("HANGUL",), ("BOPOMOFO",)

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class FontFace:
    """A face of a font file."""

    path: str
    index: int


@dataclass(frozen=True, slots=True)
class FontChoice:
    """The chosen faces, in order of preference, in addition to the included fonts. `missing` names
    the scripts that no font covers."""

    faces: tuple[FontFace, ...] = ()
    missing: tuple[str, ...] = ()


class FontLibrary:
    """The operator's fonts. The folders are read when the first letter needs more than the included
    fonts."""

    def __init__(self, folders: Sequence[Path] = ()) -> None:
        self._folders = tuple(folders)

    def choose(self, text: str) -> FontChoice:
        """Choose faces for all characters of a text. Equal texts give equal choices."""
        if text.isascii():
            return FontChoice()
        needed = sorted(list_uncovered(text))
        return self._choose(needed) if needed else FontChoice()

    def _choose(self, needed: Sequence[str]) -> FontChoice:
        starts, ends = _load_coverage("others")
        along = {each for each in needed if is_within(ord(each), starts, ends)}
        # Arrows and ticks look the same in the included fonts; letters of names need a matching
        # font.
        signs = {each for each in along if unicodedata.category(each)[0] not in "LM"}
        left, chosen = set(needed) - signs, []
        region = _guess_region(needed)
        faces = _read_folders(self._folders)
        while left:
            best = max(faces, key=lambda each: _rank_face(each[1], left, region), default=None)
            if best is None or not any(map(best[1].has, left)):
                break
            chosen.append(FontFace(best[0], best[1].index))
            left -= {each for each in left if best[1].has(each)}
        left -= along
        return FontChoice(tuple(chosen), tuple(sorted({get_script_name(each) for each in left})))


def list_uncovered(text: Iterable[str]) -> set[str]:
    """Return the characters that the standard font lacks."""
    starts, ends = _load_coverage("libertinus")
    return {
        each
        for each in set(text)
        if not is_within(ord(each), starts, ends) and not _is_invisible(each)
    }


def get_script_name(character: str) -> str:
    """Return the English name of the character's script, such as "Tibetan"."""
    if unicodedata.category(character).startswith("S"):
        return "symbols"
    word = unicodedata.name(character, "unknown").split()[0].split("-")[0].capitalize()
    return "Han" if word == "Cjk" else word


def _is_invisible(character: str) -> bool:
    is_variant = any(ord(character) in each for each in _VARIANTS)
    return is_variant or unicodedata.category(character) in _INVISIBLE


def _rank_face(
    face: FontFileFace, left: set[str], region: str
) -> tuple[int, bool, bool, bool, int, str]:
    name = face.name
    return (
        sum(map(face.has, left)),
        not any(word in name for word in _AVOIDED),
        any(word in name for word in _PREFERRED),
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
def _read_folders(folders: tuple[Path, ...]) -> Sequence[tuple[str, FontFileFace]]:
    """Return the upright faces of normal weight. A file that is no font is skipped and logged."""
    return [
        (str(path), face)
        for folder in folders
        for path in sorted(folder.rglob("*"))
        if path.suffix.lower() in _ENDINGS
        for face in _read_file(path)
        if face.is_regular
    ]


def _read_file(path: Path) -> Iterator[FontFileFace]:
    try:
        with path.open("rb") as file:
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            yield from parse_faces(content)
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
