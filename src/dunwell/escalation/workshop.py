"""What turning planned contacts into messages needs beside the database: files and the press."""

from dataclasses import dataclass
from typing import Self

from dunwell.files.storage import Storage
from dunwell.kit.resources import Resources
from dunwell.messages.letters.press import Press
from dunwell.messages.letters.printing import Printer


@dataclass(frozen=True, slots=True)
class Workshop:
    resources: Resources
    storage: Storage
    press: Press

    @classmethod
    def open(cls, resources: Resources) -> Self:
        """Its press starts with the first letter; close it at the end."""
        return cls(resources, Storage.open(resources.settings.files_url), Press())

    @property
    def printer(self) -> Printer:
        return Printer(self.storage, self.press, self.resources.keys)

    async def close(self) -> None:
        await self.press.close()
