"""The line `folder`: letters into a folder on the workers' machine."""

from pathlib import Path

from dunwell.accounts.installation.delivery_providers import FolderLine
from dunwell.adapters.channels.folder.depot import FolderDepot
from dunwell.adapters.channels.print_service.channel import PrintServiceChannel
from dunwell.contact.messages.letters.printer import LetterPrinter
from dunwell.platform.resources import Resources


class FolderChannel(PrintServiceChannel):
    def __init__(
        self, name: str, line: FolderLine, resources: Resources,
        printer: LetterPrinter | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            name, line, depot=FolderDepot(Path(line.folder)), resources=resources, printer=printer
        )
