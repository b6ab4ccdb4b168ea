"""How large a message to a debtor may become, and what a text would make of it. Pure.

A short text can stand for a huge message: a snippet of 20,000 characters that is used a thousand
times, or a table of items in every line. So a size is computed before anything is put together, and
counted while values are put in. What would pass a limit is refused and never cut.
"""

from collections.abc import Iterable, Mapping

from dunwell.accounts.merchants.configuration import Channel

# A text with its snippets put in. The longest single text has 20,000 characters; twice as many
# print a letter of some twenty pages, which already exceeds what people read.
MAX_TEXT_CHARACTERS: Mapping[Channel, int] = {"EMAIL": 40_000, "SMS": 20_000, "LETTER": 40_000}
# A message with all values in it: an e-mail's HTML, an SMS's or a letter's words. Markup and values
# make an ordinary text at most five times as long.
MAX_MESSAGE_CHARACTERS: Mapping[Channel, int] = {
    "EMAIL": 400_000, "SMS": 40_000, "LETTER": 200_000,
}  # fmt: skip
# All texts of a definition together, their snippets put in: some 300 usual texts. Checking this
# much prose takes about a second, and the compiled texts of two such definitions are kept.
MAX_DEFINITION_CHARACTERS = 500_000
# What a table of items counts as before its items are known. With 100 items, the most that a claim
# has, it has ten times as many characters in an e-mail's HTML.
ITEMS_CHARACTERS = 4_000


class MessageTooLarge(Exception):  # noqa: N818 - reads as what is wrong
    """The message would pass the limit of its channel. Nothing of it was put together."""

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"The message is longer than {limit:,} characters, the most that its channel carries. "
            "Shorten the template or the snippets it uses, and publish it again."
        )
        self.limit = limit


def join_within(pieces: Iterable[str], limit: int) -> str:
    """Join the pieces. Raises MessageTooLarge before more than the limit is held."""
    joined, length = list[str](), 0
    for piece in pieces:
        length += len(piece)
        if length > limit:
            raise MessageTooLarge(limit)
        joined.append(piece)
    return "".join(joined)
