"""The fonts in the operator's folders: the names and characters of their faces (OpenType, TrueType
and collections), and the choice of the fonts that a letter needs. Most letters need none, because
Libertinus Serif is included.

Only the tables `name`, `OS/2` and `cmap` of a font file are read. `libertinus.txt` and `others.txt`
list the characters of the fonts that Typst includes; `tools/write_font_coverage.py` writes them.
"""

import mmap
import struct
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Protocol

import structlog

_COLLECTION = b"ttcf"
# The name id of the full name, and the platform id of Windows.
_FULL_NAME, _WINDOWS = 4, 3
_REGULAR, _NORMAL_WIDTH, _ITALIC = 400, 5, 0x01


class ReadableBytes(Protocol):
    """Bytes or a mapped file."""

    def __getitem__(self, part: slice) -> bytes: ...


@dataclass(frozen=True, slots=True)
class FontFileFace:
    """One face of a font file. `index` is its position in the file; `starts` and `ends` are the
    sorted ranges of its characters."""

    index: int
    name: str
    is_regular: bool
    starts: Sequence[int]
    ends: Sequence[int]

    def has(self, character: str) -> bool:
        return is_within(ord(character), self.starts, self.ends)


def is_within(number: int, starts: Sequence[int], ends: Sequence[int]) -> bool:
    """Return whether the number lies in one of the sorted ranges."""
    place = bisect_right(starts, number) - 1
    return place >= 0 and number <= ends[place]


def parse_faces(file: ReadableBytes) -> list[FontFileFace]:
    """Parse the faces of a font file. Raises ValueError for a file that is not a font or is
    damaged."""
    try:
        return [
            _parse_face(file, index, offset) for index, offset in enumerate(_list_offsets(file))
        ]
    except (struct.error, UnicodeDecodeError, KeyError) as error:
        raise ValueError("The file is not a readable font.") from error


def _list_offsets(file: ReadableBytes) -> Sequence[int]:
    if file[0:4] != _COLLECTION:
        return [0]
    (count,) = struct.unpack(">I", file[8:12])
    return struct.unpack(f">{count}I", file[12 : 12 + 4 * count])


def _parse_face(file: ReadableBytes, index: int, offset: int) -> FontFileFace:
    (count,) = struct.unpack(">H", file[offset + 4 : offset + 6])
    tables: dict[bytes, tuple[int, int]] = {}
    for number in range(count):
        entry = offset + 12 + 16 * number
        tables[file[entry : entry + 4]] = struct.unpack(">II", file[entry + 8 : entry + 16])
    ranges = sorted(_list_ranges(_slice_table(file, tables[b"cmap"])))
    return FontFileFace(
        index=index,
        name=_parse_full_name(_slice_table(file, tables[b"name"])),
        is_regular=_is_regular(_slice_table(file, tables[b"OS/2"])),
        starts=[start for start, _ in ranges],
        ends=[end for _, end in ranges],
    )


def _slice_table(file: ReadableBytes, table: tuple[int, int]) -> bytes:
    offset, length = table
    return file[offset : offset + length]


def _is_regular(table: bytes) -> bool:
    weight, width = struct.unpack(">HH", table[4:8])
    (selection,) = struct.unpack(">H", table[62:64])
    return weight == _REGULAR and width == _NORMAL_WIDTH and not selection & _ITALIC


def _parse_full_name(table: bytes) -> str:
    count, strings = struct.unpack(">HH", table[2:6])
    for number in range(count):
        record = table[6 + 12 * number : 18 + 12 * number]
        platform, _, _, kind, length, offset = struct.unpack(">6H", record)
        if (platform, kind) == (_WINDOWS, _FULL_NAME):
            return table[strings + offset : strings + offset + length].decode("utf-16-be")
    return ""


def _list_ranges(table: bytes) -> Iterator[tuple[int, int]]:
    """Return the ranges of the largest character map: all of Unicode if there is one, otherwise the
    first 65,536 characters."""
    (count,) = struct.unpack(">H", table[2:4])
    maps = {}
    for number in range(count):
        _, _, offset = struct.unpack(">HHI", table[4 + 8 * number : 12 + 8 * number])
        (table_format,) = struct.unpack(">H", table[offset : offset + 2])
        maps[table_format] = table[offset:]
    if 12 in maps:
        return _list_groups(maps[12])
    return _list_segments(maps[4])


def _list_groups(table: bytes) -> Iterator[tuple[int, int]]:
    (count,) = struct.unpack(">I", table[12:16])
    for start, end, _ in struct.iter_unpack(">3I", table[16 : 16 + 12 * count]):
        yield start, end


def _list_segments(table: bytes) -> Iterator[tuple[int, int]]:
    """Return the ranges of a format 4 map. A segment lists its glyphs or computes them from a
    delta; glyph 0 means that the character is missing."""
    (size,) = struct.unpack(">H", table[6:8])
    form = f">{size // 2}H"
    ends = struct.unpack(form, table[14 : 14 + size])
    starts = struct.unpack(form, table[16 + size : 16 + 2 * size])
    places = 16 + 3 * size
    offsets = struct.unpack(form, table[places : places + size])
    for number, (start, end, offset) in enumerate(zip(starts, ends, offsets, strict=True)):
        if start == 0xFFFF:
            continue
        if offset == 0:
            yield start, end
            continue
        first = places + 2 * number + offset
        glyphs = struct.unpack(f">{end - start + 1}H", table[first : first + 2 * (end - start + 1)])
        for at, glyph in enumerate(glyphs):
            if glyph:
                yield start + at, start + at


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
        # Characters that the other fonts included in Typst have.
        in_other_fonts = {each for each in needed if is_within(ord(each), starts, ends)}
        # Arrows and ticks look the same in the included fonts; letters of names need a matching
        # font.
        symbols = {each for each in in_other_fonts if unicodedata.category(each)[0] not in "LM"}
        remaining, chosen = set(needed) - symbols, []
        region = _guess_region(needed)
        faces = _read_folders(self._folders)
        while remaining:
            best = max(faces, key=lambda each: _rank_face(each[1], remaining, region), default=None)
            if best is None or not any(map(best[1].has, remaining)):
                break
            chosen.append(FontFace(best[0], best[1].index))
            remaining -= {each for each in remaining if best[1].has(each)}
        remaining -= in_other_fonts
        return FontChoice(
            tuple(chosen), tuple(sorted({get_script_name(each) for each in remaining}))
        )


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
    face: FontFileFace, remaining: set[str], region: str
) -> tuple[int, bool, bool, bool, int, str]:
    name = face.name
    return (
        sum(map(face.has, remaining)),
        not any(word in name for word in _AVOIDED),
        any(word in name for word in _PREFERRED),
        name.removesuffix(" Regular").endswith(region),
        -len(name),
        name,
    )


def _guess_region(characters: Iterable[str]) -> str:
    """Return the suffix of the names of fonts with this region's forms of Han characters."""
    words = {unicodedata.name(each, "?").split()[0] for each in characters}
    if words & set(_KANA):
        return "JP"
    if words & set(_HANGUL):
        return "KR"
    return "TC" if words & set(_BOPOMOFO) else "SC"


@cache
def _read_folders(folders: tuple[Path, ...]) -> Sequence[tuple[str, FontFileFace]]:
    """Return the upright faces of normal weight. A file that is not a font is skipped and
    logged.
    """
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
        log.warning("font not read", file=str(path), error=type(error).__name__)


@cache
def _load_coverage(name: str) -> tuple[Sequence[int], Sequence[int]]:
    lines = (_FOLDER / f"{name}.txt").read_text().split()
    pairs = [line.partition("-") for line in lines]
    return (
        [int(start, 16) for start, _, _ in pairs],
        [int(end or start, 16) for start, _, end in pairs],
    )
