"""Read the names and characters of the faces in a font file (OpenType, TrueType, or a collection of
them). Only the tables `name`, `OS/2` and `cmap` are read. Pure."""

import struct
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

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
    place = bisect_right(starts, number) - 1
    return place >= 0 and number <= ends[place]


def parse_faces(file: ReadableBytes) -> list[FontFileFace]:
    """Raises ValueError for a file that is no font or is damaged."""
    try:
        return [_read_face(file, index, offset) for index, offset in enumerate(_list_offsets(file))]
    except (struct.error, UnicodeDecodeError, KeyError) as error:
        raise ValueError("no font that can be read") from error


def _list_offsets(file: ReadableBytes) -> Sequence[int]:
    if file[0:4] != _COLLECTION:
        return [0]
    (count,) = struct.unpack(">I", file[8:12])
    return struct.unpack(f">{count}I", file[12 : 12 + 4 * count])


def _read_face(file: ReadableBytes, index: int, offset: int) -> FontFileFace:
    (count,) = struct.unpack(">H", file[offset + 4 : offset + 6])
    tables: dict[bytes, tuple[int, int]] = {}
    for number in range(count):
        entry = offset + 12 + 16 * number
        tables[file[entry : entry + 4]] = struct.unpack(">II", file[entry + 8 : entry + 16])
    ranges = sorted(_list_ranges(_read_table(file, tables[b"cmap"])))
    return FontFileFace(
        index=index,
        name=_read_name(_read_table(file, tables[b"name"])),
        is_regular=_is_regular(_read_table(file, tables[b"OS/2"])),
        starts=[start for start, _ in ranges],
        ends=[end for _, end in ranges],
    )


def _read_table(file: ReadableBytes, table: tuple[int, int]) -> bytes:
    offset, length = table
    return file[offset : offset + length]


def _is_regular(table: bytes) -> bool:
    weight, width = struct.unpack(">HH", table[4:8])
    (selection,) = struct.unpack(">H", table[62:64])
    return weight == _REGULAR and width == _NORMAL_WIDTH and not selection & _ITALIC


def _read_name(table: bytes) -> str:
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
        (form,) = struct.unpack(">H", table[offset : offset + 2])
        maps[form] = table[offset:]
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
    (twice,) = struct.unpack(">H", table[6:8])
    form, size = f">{twice // 2}H", twice
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
