"""The children that parse untrusted files can do nothing else, whatever code a file makes them run.
The printer of letters is confined in the same way as the parser of files."""

import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import psutil
import pytest

from dunwell.adapters.mail.incoming import Envelope
from dunwell.adapters.mail.receive_mail import MailParser
from dunwell.contact.messages.letters.printer import LetterPrinter
from dunwell.contact.messages.letters.sheet import encode_sheet
from dunwell.core.files.inspection import Inspector
from dunwell.core.files.pictures import PagePictures, PictureSource
from dunwell.core.files.upload import PDF
from dunwell.platform.children.child import get_confinement
from dunwell.platform.children.child_pool import LENGTH
from dunwell.platform.children.document_reader import DocumentReader
from dunwell.platform.crypto import KeyRing
from tests.support.children import end_all, find_children
from tests.support.confined import TRIES
from tests.support.files import a_pdf
from tests.support.letters import a_letter

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Landlock and seccomp are Linux's")


@pytest.mark.parametrize("kind", ["parser", "printer"])
@pytest.mark.parametrize("name", TRIES)
def test_code_inside_the_child_is_refused(name: str, kind: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.confined", kind, name],
        cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.stdout.startswith("refused: "), done


async def _inspect(children: list[Callable[[], Awaitable[None]]]) -> None:
    inspector = Inspector(1)
    children.append(inspector.close)
    await inspector.inspect(a_pdf())


async def _draw_page(children: list[Callable[[], Awaitable[None]]]) -> None:
    page_pictures = PagePictures(1)
    children.append(page_pictures.close)

    async def load() -> bytes:
        return a_pdf()

    await page_pictures.count_pages(PictureSource("key", PDF, load))


async def _print(children: list[Callable[[], Awaitable[None]]]) -> None:
    printer = LetterPrinter(1)
    children.append(printer.close)
    await printer.print_sheet(encode_sheet(a_letter().sheet))


async def _read_document(children: list[Callable[[], Awaitable[None]]]) -> None:
    documents = DocumentReader()
    children.append(documents.close)
    await documents.read("a: 1", "key", lambda value: value)


async def _read_mail(children: list[Callable[[], Awaitable[None]]]) -> None:
    reader = MailParser()
    children.append(reader.close)
    await reader.classify(KeyRing({1: b"k" * 32}), Envelope("post", "", "x@y.example", b"\r\nx"))


_KINDS = {
    "yaml_child": _read_document,
    "mail_child": _read_mail,
    "inspection_child": _inspect,
    "drawing_child": _draw_page,
    "printer_child": _print,
}


@asynccontextmanager
async def _child_of(module: str) -> AsyncIterator[psutil.Process]:
    """Yield the only child of this kind, after its first request."""
    await end_all(module)
    closing: list[Callable[[], Awaitable[None]]] = []
    try:
        await _KINDS[module](closing)
        (child,) = find_children(module)
        yield child
    finally:
        for close in closing:
            await close()


@pytest.mark.parametrize("module", _KINDS)
async def test_every_limit_of_a_child_is_a_hard_limit(module: str) -> None:
    async with _child_of(module) as child:
        limits = {kind: child.rlimit(kind) for kind in _LIMITED}
    assert all(soft == hard for soft, hard in limits.values()), limits
    assert all(0 <= hard <= 1 << 30 for _, hard in limits.values()), limits
    assert limits[psutil.RLIMIT_NPROC] == limits[psutil.RLIMIT_FSIZE] == (0, 0)
    assert 0 < limits[psutil.RLIMIT_CPU][0] <= 30


@pytest.mark.parametrize("module", _KINDS)
async def test_every_thread_of_a_child_is_confined(module: str) -> None:
    async with _child_of(module) as child:
        statuses = _read_statuses(child.pid)
    assert all("NoNewPrivs:\t1" in status for status in statuses)
    if get_confinement().has_seccomp:
        assert all("Seccomp:\t2" in status for status in statuses)
    # The first thread reads the requests and starts no other thread.
    assert "CapEff:\t0000000000000000" in statuses[0]


def _read_statuses(pid: int) -> list[str]:
    """Return the kernel's status of each thread, the first thread first."""
    tasks = sorted(Path(f"/proc/{pid}/task").iterdir(), key=lambda task: int(task.name))
    return [(task / "status").read_text() for task in tasks]


def test_a_child_exits_before_its_processor_time_ends_in_the_middle_of_a_request() -> None:
    """The hard limit cannot be raised for each request."""
    asked = LENGTH.pack(1) + b"x"
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.slow_child"],
        cwd=Path(__file__).parents[2], input=asked * 20, capture_output=True, timeout=60,
        check=False,
    )  # fmt: skip
    answered = done.stdout.count(b"done")
    assert (done.returncode, 2 <= answered <= 8) == (0, True), (done, answered)


_LIMITED = (
    psutil.RLIMIT_AS,
    psutil.RLIMIT_CORE,
    psutil.RLIMIT_CPU,
    psutil.RLIMIT_FSIZE,
    psutil.RLIMIT_NOFILE,
    psutil.RLIMIT_NPROC,
)
