"""The sorting of a list as its address has it: a column's name, with a minus for descending order.
Pure."""

from collections.abc import Collection

import msgspec


class Sorting(msgspec.Struct, frozen=True, gc=False):
    """usual: the sorting of an address without one."""

    column: str
    is_descending: bool
    usual: str

    @property
    def word(self) -> str:
        """Return the sorting for the address, "" for the usual one."""
        given = f"{'-' if self.is_descending else ''}{self.column}"
        return "" if given == self.usual else given

    def turn(self, column: str) -> str:
        """Return the sorting that a column's heading links to. A second click reverses it."""
        goes_down = column == self.column and not self.is_descending
        return f"{'-' if goes_down else ''}{column}"

    def aria(self, column: str) -> str:
        """Return the column's `aria-sort`, "" if the list is not sorted by it."""
        if column != self.column:
            return ""
        return "descending" if self.is_descending else "ascending"


def read_sorting(given: str, offered: Collection[str], usual: str) -> Sorting:
    """Parse the sorting. Return the usual one if it is not offered."""
    word = given if given.removeprefix("-") in offered else usual
    return Sorting(word.removeprefix("-"), word.startswith("-"), usual)
