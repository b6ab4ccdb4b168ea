"""A merchant with a delivery provider for letters, and the files that its print service receives
and writes."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from dunwell.accounts.installation.delivery_providers import BatchSettings, FolderProvider
from dunwell.accounts.merchants.configuration import ChannelSetup
from dunwell.adapters.channels.folder.channel import FolderChannel
from dunwell.adapters.channels.print_service.channel import PrintServiceChannel
from dunwell.contact.escalation.reports.delivery_reports import process_reports
from dunwell.contact.sending.batches.letter_folder import PrintProvider
from dunwell.contact.sending.batches.read_statuses import StatusFileReader
from dunwell.contact.sending.batches.release_batches import BatchReleaser
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.channels import ADDRESS, CHANNELS, TEMPLATE, three_channels
from tests.support.children import PRINTER
from tests.support.definitions import DOCUMENT, a_definition
from tests.support.harness import Harness, a_harness
from tests.support.merchants import CONFIGURATION
from tests.support.print_files import list_letters, list_manifests

# The name of the delivery provider for letters.
PROVIDER = "post"
_ITEMS = """
SELECT i.state, m.state AS contact, m.failure, i.status, m.delivered_at IS NOT NULL AS is_delivered
FROM letter_batch_items i JOIN communications m USING (merchant_id, communication_id)
WHERE i.merchant_id = $1 ORDER BY m.claim_id, m.planned_at
"""


@dataclass
class LetterHarness:
    """`letter_folder` is the folder into which the adapter writes the letters."""

    harness: Harness
    adapter: PrintServiceChannel
    letter_folder: Path

    @property
    def delivery_providers(self) -> dict[str, PrintProvider]:
        return {PROVIDER: self.adapter.print_provider}

    async def create(self, *references: str, **changes: Any) -> list[int]:
        claims = await self.harness.create(*references, **{"address": ADDRESS} | changes)
        await self.harness.run()
        return claims

    async def release(self) -> int:
        return await BatchReleaser(
            self.harness.resources, lambda: self.delivery_providers
        ).run_once()

    async def read_statuses(self) -> int:
        """Read the status files and apply them to their letters."""
        read = await StatusFileReader(
            self.harness.resources, lambda: self.delivery_providers
        ).run_once()
        await self.join()
        return read

    async def join(self) -> None:
        await process_reports(self.harness.resources)
        await self.harness.run()

    async def items(self) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in await self.harness.rows(_ITEMS)]

    def letters(self) -> list[str]:
        return list(list_letters(self.letter_folder))

    def manifests(self) -> list[dict[str, Any]]:
        return list_manifests(self.letter_folder)

    def references(self) -> list[str]:
        return [name.removesuffix(".pdf") for name in self.letters()]

    def write_status_file(self, name: str, content: str | bytes) -> None:
        """Write a status file as the print service does."""
        folder = self.letter_folder / "status"
        folder.mkdir(exist_ok=True)
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())

    def files(self, folder: str = "") -> list[str]:
        found = self.letter_folder / folder
        return sorted(path.name for path in found.iterdir() if path.is_file())


def write_status(*lines: Sequence[str]) -> str:
    rows = [("reference", "state", "time"), *lines]
    return "".join(",".join(row) + "\n" for row in rows)


async def a_letter_harness(
    resources: Resources, clock: MovableClock, adapter: PrintServiceChannel, letter_folder: Path,
    **given: Any,
) -> LetterHarness:  # fmt: skip
    """Return a merchant that sends a letter at once, and an e-mail if the letter fails. `given` is
    passed to a_merchant."""
    setups: Any = {name: ChannelSetup(adapter="outbox") for name in CHANNELS}
    setups["LETTER"] = ChannelSetup(provider=PROVIDER)
    configuration = msgspec.structs.replace(CONFIGURATION, channels=setups)
    step = {
        **DOCUMENT["steps"][0], "channel": "LETTER", "fallbacks": ["EMAIL"], "send": "IMMEDIATE",
    }  # fmt: skip
    definition = a_definition(
        steps=[step, *DOCUMENT["steps"][1:]], templates={"reminder": TEMPLATE}
    )
    providers: Any = {PROVIDER: adapter}
    harness = await a_harness(
        resources, clock, definition,
        configuration=configuration, channels=three_channels(), delivery_providers=providers,
        **given,
    )  # fmt: skip
    return LetterHarness(harness, adapter, letter_folder)


async def a_harness_with_a_folder(
    resources: Resources, clock: MovableClock, folder: Path, batch: BatchSettings | None = None,
    **given: Any,
) -> LetterHarness:  # fmt: skip
    folder.mkdir(exist_ok=True)  # noqa: ASYNC240 - it is a test's
    provider = FolderProvider(channel="LETTER", folder=str(folder), batch=batch or BatchSettings())
    adapter = FolderChannel(PROVIDER, provider, resources, PRINTER)
    return await a_letter_harness(resources, clock, adapter, folder, **given)
