"""The child processes that read files and print papers, kept from test to test: a start takes most
of the time that they work.

Tests of the children themselves have some of their own.
"""

import psutil

from dunwell.adapters.mail.mail_reader import MailReader
from dunwell.files.inspection import Inspector
from dunwell.files.pictures import PagePainter
from dunwell.kit.document_reader import DocumentReader
from dunwell.messages.letters.printer import LetterPrinter


class _LastingPrinter(LetterPrinter):
    async def close(self) -> None:
        """A dispatcher's end is not its end."""


INSPECTOR = Inspector()
PAINTER = PagePainter()
DOCUMENTS = DocumentReader()
MAIL_READER = MailReader()
PRINTER = _LastingPrinter(1)


def find_children(module: str) -> list[psutil.Process]:
    """Those of this process that run a module."""
    children = psutil.Process().children()
    return [child for child in children if module in " ".join(child.cmdline())]


async def end_all(module: str) -> None:
    """Also those that other tests left; theirs start again when they are needed."""
    await end_children()
    for child in find_children(module):
        child.kill()
        child.wait()


async def end_children() -> None:
    """At the end of all tests."""
    await INSPECTOR.close()
    await PAINTER.close()
    await DOCUMENTS.close()
    await MAIL_READER.close()
    await LetterPrinter.close(PRINTER)
