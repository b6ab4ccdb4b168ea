"""The order of a list as its address says it: the name of a column, with a minus for the greatest
first. Pure."""

from collections.abc import Collection

import msgspec


class Sorting(msgspec.Struct, frozen=True, gc=False):
    """`usual`: the order of an address that says nothing, written like one that does."""

    column: str
    is_descending: bool
    usual: str

    @property
    def word(self) -> str:
        """For the address; "": the usual order."""
        given = f"{'-' if self.is_descending else ''}{self.column}"
        return "" if given == self.usual else given

    def turn(self, column: str) -> str:
        """What the heading of a column leads to: its order, or the same the other way about."""
        goes_down = column == self.column and not self.is_descending
        return f"{'-' if goes_down else ''}{column}"

    def aria(self, column: str) -> str:
        """The `aria-sort` of a column; "": it is not sorted by."""
        if column != self.column:
            return ""
        return "descending" if self.is_descending else "ascending"


def read_sorting(given: str, offered: Collection[str], usual: str) -> Sorting:
    """The usual order for what is not offered."""
    word = given if given.removeprefix("-") in offered else usual
    return Sorting(word.removeprefix("-"), word.startswith("-"), usual)
