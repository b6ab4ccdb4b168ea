"""Letters that are printed and written to a folder, compared with Typst only laying them out; and
letters that are uploaded by SFTP to a real OpenSSH server and released, compared with a simple
asyncssh loop that writes and renames the same bytes."""

import asyncio
import tempfile
import time
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from uuid import UUID

import asyncssh
import typst
from tests.servers.sshd import Sshd, make_sshd

from bench.environment import Ground
from bench.letters import make_sheet
from bench.line import Line
from bench.merchant import make_merchant
from bench.rounds import Scale, alternate
from dunwell.accounts.installation.delivery_providers import BatchSettings, FolderProvider
from dunwell.adapters.channels.folder.channel import FolderChannel
from dunwell.adapters.channels.print_service.channel import PrintServiceChannel
from dunwell.adapters.channels.sftp.channel import SftpChannel
from dunwell.contact.messages import letters
from dunwell.contact.messages.letters.layout import load_layout
from dunwell.contact.messages.letters.printer import LetterPrinter
from dunwell.contact.messages.letters.qr_code import draw_svg
from dunwell.contact.sending.batches.release_batches import BatchReleaser
from dunwell.contact.sending.channel import Accepted, Message, MessageFile
from dunwell.platform.clock import SystemClock
from dunwell.platform.resources import Resources

_LETTERS = 10_000
_PRINTED = 1_000
# As many calls as a merchant's dispatcher makes at a time, and as many files as a delivery provider
# has open.
_AT_ONCE, _FILES_AT_ONCE = 50, 16
_AT_LEAST_OF_TYPST, _AT_LEAST_OF_ASYNCSSH = 0.85, 0.8
_SOURCE = Path(letters.__file__).parent / "letter.typ"
_CLEAR = "TRUNCATE letter_batch_items, letter_batches, recovered_letters"


async def measure(ground: Ground, scale: Scale) -> list[Line]:
    resources = ground.resources(SystemClock())
    bench = await make_merchant(ground, None)
    merchant_id = bench.merchant.merchant_id
    with tempfile.TemporaryDirectory(prefix="dunwell-letters-") as name:
        folder, typst_alone = await _measure_folder(resources, merchant_id, Path(name), scale)
        sftp, bare = await _measure_sftp(resources, merchant_id, Path(name), scale)
    return [
        Line(
            work="letters: printed, handed over to a folder, one child", unit="letters/s",
            ours=folder, beside="Typst alone, in the process", reference=typst_alone,
            at_least=_AT_LEAST_OF_TYPST,
        ),
        Line(
            work="letters: handed over by SFTP and released", unit="letters/s",
            ours=sftp, beside="asyncssh alone, the same bytes", reference=bare,
            at_least=_AT_LEAST_OF_ASYNCSSH,
        ),
    ]  # fmt: skip


async def _measure_folder(
    resources: Resources, merchant_id: int, folder: Path, scale: Scale
) -> tuple[list[float], list[float]]:
    letter_folder = folder / "depot"
    letter_folder.mkdir()
    line = FolderProvider(
        channel="LETTER", folder=str(letter_folder), batch=BatchSettings(most=10_000)
    )
    adapter, printer = FolderChannel("post", line, resources), LetterPrinter(1)
    await printer.print_sheet(make_sheet(0))
    compiler = typst.Compiler(b"x", font_paths=typst.Fonts(include_system_fonts=False))
    alone = partial(_lay_out, compiler)
    await alone()
    ours, reference = await alternate(
        scale, [partial(_print_all, resources, merchant_id, printer, adapter), alone]
    )
    await printer.close()
    await adapter.close()
    return ours, reference


async def _print_all(
    resources: Resources, merchant_id: int, printer: LetterPrinter, adapter: PrintServiceChannel
) -> float:
    await _clear(resources)
    slots = asyncio.Semaphore(_AT_ONCE)

    async def print_one(number: int) -> None:
        async with slots:
            pdf = await printer.print_sheet(make_sheet(number))
            outcome = await adapter.send(_make_message(merchant_id, number, pdf))
            assert isinstance(outcome, Accepted)

    started = time.perf_counter()
    await asyncio.gather(*(print_one(number) for number in range(_PRINTED)))
    return _PRINTED / (time.perf_counter() - started)


async def _lay_out(compiler: typst.Compiler) -> float:
    """Return how many of the same letters Typst alone lays out per second. Their codes are drawn
    before the measurement."""
    layout = _SOURCE.read_bytes()
    files = [_make_files(layout, number) for number in range(_PRINTED)]

    def lay_out() -> float:
        started = time.perf_counter()
        for each in files:
            compiler.compile(each, format="pdf", timestamp=0)  # type: ignore[type-var]
        return _PRINTED / (time.perf_counter() - started)

    return await asyncio.to_thread(lay_out)


def _make_files(layout: bytes, number: int) -> dict[str, bytes]:
    code = draw_svg(f"https://claims.nordwind.example/q/{number:022d}")
    return {
        "main": layout, "letter.json": make_sheet(number), "page.svg": code, "payment.svg": code,
        "layout.json": load_layout("din-5008-b"),
    }  # fmt: skip


async def _measure_sftp(
    resources: Resources, merchant_id: int, folder: Path, scale: Scale
) -> tuple[list[float], list[float]]:
    server = make_sshd(folder / "sshd")
    server.start()
    printer = LetterPrinter(1)
    pdf = await printer.print_sheet(make_sheet(0))
    await printer.close()
    line = server.provider(batch=BatchSettings(most=10_000))
    adapter = SftpChannel("post", line, server.secrets, resources)
    count = scale.rows(_LETTERS)
    try:
        ours, reference = await alternate(
            scale,
            [
                partial(_hand_over, resources, adapter, merchant_id, pdf, count),
                partial(_write_bare, server, pdf, count),
            ],
        )
    finally:
        await adapter.close()
        server.stop()
    return ours, reference


async def _hand_over(
    resources: Resources, adapter: SftpChannel, merchant_id: int, pdf: bytes, count: int
) -> float:
    await _clear(resources)
    releaser = BatchReleaser(resources, lambda: {"post": adapter.print_provider})
    slots = asyncio.Semaphore(_AT_ONCE)

    async def send(number: int) -> None:
        async with slots:
            outcome = await adapter.send(_make_message(merchant_id, number, pdf))
            assert isinstance(outcome, Accepted)

    started = time.perf_counter()
    await asyncio.gather(*(send(number) for number in range(count)))
    released = await releaser.run_once() if count == _LETTERS else count
    assert released == count
    return count / (time.perf_counter() - started)


async def _write_bare(server: Sshd, pdf: bytes, count: int) -> float:
    key = asyncssh.import_private_key(server.secrets["deliveryProviders/post/keyFile"])
    slots, letter_folder = asyncio.Semaphore(_FILES_AT_ONCE), server.letter_folder
    async with asyncssh.connect(
        "127.0.0.1", server.port, username=server.provider().user, client_keys=[key],
        known_hosts=None, config=[], agent_path=None,
    ) as connection, connection.start_sftp_client() as client:  # fmt: skip

        async def write(number: int) -> None:
            async with slots:
                path = str(letter_folder / f"bare-{number}.pdf")
                async with client.open(f"{path}.part", "wb") as file:
                    await file.write(pdf)
                await client.posix_rename(f"{path}.part", path)

        started = time.perf_counter()
        await asyncio.gather(*(write(number) for number in range(count)))
        return count / (time.perf_counter() - started)


async def _clear(resources: Resources) -> None:
    async with resources.database.connection() as connection:
        await connection.execute(_CLEAR)


def _make_message(merchant_id: int, number: int, pdf: bytes) -> Message:
    return Message(
        communication_id=UUID(int=(0x7 << 76) | (0x2 << 62) | number),
        merchant_id=merchant_id, claim_id=1, channel="LETTER",
        recipient="Erika Mustermann\nHeidestraße 17\n51147 Köln",
        sender="", sender_name="Nordwind", reply_to=None, language="de", subject="x",
        body_text="x", body_html=None, created_at=datetime(2026, 3, 2, tzinfo=UTC), country="DE",
        document=MessageFile("letter.pdf", "application/pdf", pdf),
    )  # fmt: skip
