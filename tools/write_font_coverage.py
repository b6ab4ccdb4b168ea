"""Write which characters the fonts of Typst contain.

Run `python -m tools.write_font_coverage` after an update of Typst. A test compares the files.
"""

import importlib.util
import struct
from collections.abc import Iterator
from pathlib import Path

from dunwell.contact.messages.letters.fonts.font_library import FontFileFace, parse_faces

FOLDER = Path(__file__).parents[1] / "src/dunwell/contact/messages/letters/fonts"
_SIGNATURES = (b"OTTO", b"\0\1\0\0")
_TEXT_FONT = "Libertinus Serif"


def write_coverage() -> dict[str, str]:
    """Return the contents of the files by name."""
    faces = list(_find_faces())
    own = [each for each in faces if each.name.replace("-", " ").startswith(_TEXT_FONT)]
    regular = [each for each in own if each.is_regular]
    others = [each for each in faces if each.is_regular and each not in own]
    return {"libertinus.txt": _render(regular), "others.txt": _render(others)}


def _find_faces() -> Iterator[FontFileFace]:
    """Yield the fonts that Typst's library contains as complete files."""
    found = importlib.util.find_spec("typst._typst")
    assert found is not None
    assert found.origin is not None
    library = Path(found.origin).read_bytes()
    for signature in _SIGNATURES:
        place = library.find(signature)
        while place >= 0:
            if (size := _measure(library, place)) is not None:
                yield from parse_faces(library[place : place + size])
            place = library.find(signature, place + 4)


def _measure(library: bytes, place: int) -> int | None:
    """Return the size of the font file that begins here, None if none does."""
    (count,) = struct.unpack_from(">H", library, place + 4)
    if not 6 <= count < 40:
        return None
    entries = [
        struct.unpack_from(">4s3I", library, place + 12 + 16 * number) for number in range(count)
    ]
    if not {b"cmap", b"name", b"OS/2", b"head"} <= {each[0] for each in entries}:
        return None
    return max(int(offset) + int(length) for _, _, offset, length in entries)


def _render(faces: list[FontFileFace]) -> str:
    characters = sorted(
        {
            number
            for face in faces
            for start, end in zip(face.starts, face.ends, strict=True)
            for number in range(start, end + 1)
        }
    )
    lines, start = [], None
    for place, number in enumerate(characters):
        start = number if start is None else start
        following = characters[place + 1] if place + 1 < len(characters) else None
        if following != number + 1:
            lines.append(f"{start:x}" if start == number else f"{start:x}-{number:x}")
            start = None
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    for name, text in write_coverage().items():
        (FOLDER / name).write_text(text)
