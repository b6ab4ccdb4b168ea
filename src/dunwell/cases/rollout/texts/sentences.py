"""The sentences of a text, and which of them are long: nobody reads those to their end. Pure."""

from collections.abc import Iterator

from dunwell.contact.messages.placeholders import LINE_MARK, split_sentences

# A sentence of more words is told; plain language keeps below it.
MOST_WORDS = 20


def list_sentences(text: str) -> Iterator[str]:
    """Of each line; a placeholder is one word, and a mark of a list or heading none."""
    for line in text.splitlines():
        mark = LINE_MARK.match(line)
        for each in split_sentences(line[mark.end() if mark else 0 :]):
            if each.strip():
                yield each.strip()


def count_words(sentence: str) -> int:
    """`{{ debtor.name }}` is one, whatever blanks stand within the braces."""
    return len(sentence.replace("{{ ", "{{").replace(" }}", "}}").split())
