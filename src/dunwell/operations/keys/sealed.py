"""What is kept sealed with the secret key, one kind beside the other; each value names its version.

A kind stands with the rows or files it is about; all are named here, for a version that seals one
that is not would be retired under it.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from dunwell.accounts.installation.secrets import SealedInstallation
from dunwell.accounts.users.reseal_factors import SealedFactors
from dunwell.cases.replies.reseal_replies import SealedReplies
from dunwell.contact.messages.letters.reseal_letters import SealedLetters
from dunwell.core.events.reseal_endpoints import SealedEndpoints
from dunwell.core.files.sealed_uploads import SealedUploads
from dunwell.core.files.storage import Storage
from dunwell.platform.config import Settings
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Connection, Database
from dunwell.platform.resealing import Part, RowKey


class SealedValues(Protocol):
    name: str

    async def count(self, tx: Connection) -> Mapping[int, int]:
        """How many are sealed with each version."""

    async def reseal(self, database: Database, keys: KeyRing, after: RowKey) -> Part:
        """Seals with the version in use what an older one seals in the next part. What somebody
        else changes meanwhile stays as they wrote it; may be broken off at any point."""


def list_sealed_values(settings: Settings) -> Sequence[SealedValues]:
    letters = SealedLetters(Storage.open(settings.files_url))
    return [
        SealedEndpoints(),
        letters,
        SealedUploads(),
        SealedFactors(),
        SealedInstallation(),
        SealedReplies(),
    ]
