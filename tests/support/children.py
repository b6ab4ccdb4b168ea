"""The child processes that parse files and render letters. They are kept between tests, because
their start takes most of the time that they are needed.

Tests of the children themselves start their own.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psutil

from dunwell.adapters.mail.receive_mail import MailParser
from dunwell.contact.messages.letters.printer import LetterPrinter
from dunwell.core.files.inspection import Inspector
from dunwell.core.files.pictures import PagePictures
from dunwell.operations.merchant_file.logo import LogoMaker
from dunwell.platform.children.document_reader import DocumentReader


class _LastingPrinter(LetterPrinter):
    async def close(self) -> None:
        """Keep the child process when a dispatcher closes."""


INSPECTOR = Inspector()
PAINTER = PagePictures()
DOCUMENTS = DocumentReader()
MAIL_READER = MailParser()
PRINTER = _LastingPrinter(1)


@asynccontextmanager
async def lend_logo_maker() -> AsyncIterator[LogoMaker]:
    """Replace `open_logo_maker`, which starts its own children."""
    yield LogoMaker(INSPECTOR, PRINTER)


def find_children(module: str) -> list[psutil.Process]:
    """Return the child processes of this process that run a module."""
    return [child for child in psutil.Process().children() if _runs(child, module)]


def _runs(child: psutil.Process, module: str) -> bool:
    # A process may end at this moment, and then it has no command line.
    try:
        return module in " ".join(child.cmdline())
    except psutil.NoSuchProcess:
        return False


async def end_all(module: str) -> None:
    """End all children that run the module, including those of other tests. They start again when
    they are needed."""
    for child in find_children(module):
        child.kill()
    while find_children(module):  # noqa: ASYNC110 - no event signals this
        await asyncio.sleep(0.01)


async def end_children() -> None:
    """End all children after the last test."""
    await INSPECTOR.close()
    await PAINTER.close()
    await DOCUMENTS.close()
    await MAIL_READER.close()
    await LetterPrinter.close(PRINTER)
