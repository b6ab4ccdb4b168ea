"""Prints letters that are only previewed. A browser asks for each page of a letter in a request of
its own, so the letters printed last are kept by their sheet: equal sheets give equal letters."""

from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

from dunwell.contact.messages.letters.printer import LetterPrinter
from dunwell.platform.crypto import sha256

# Two pages are made at once; each user's letter before is still there when they go back to it.
_MOST_KEPT = 4
_MOST_KEPT_BYTES = 8 * 1024 * 1024


class PreviewPrinter(LetterPrinter):
    """One child for each page that is made at once, so that no user waits for another's letter."""

    def __init__(self, size: int = 2, fonts: Sequence[Path] = ()) -> None:
        super().__init__(size, fonts=fonts)
        self._kept = OrderedDict[bytes, bytes]()

    async def print_sheet(self, sheet: bytes) -> bytes:
        key = sha256(sheet)
        if key not in self._kept:
            self._keep(key, await super().print_sheet(sheet))
            return self._kept[key]
        self._kept.move_to_end(key)
        return self._kept[key]

    def _keep(self, key: bytes, pdf: bytes) -> None:
        self._kept[key] = pdf
        self._kept.move_to_end(key)
        while len(self._kept) > 1 and (
            len(self._kept) > _MOST_KEPT or sum(map(len, self._kept.values())) > _MOST_KEPT_BYTES
        ):
            self._kept.popitem(last=False)
