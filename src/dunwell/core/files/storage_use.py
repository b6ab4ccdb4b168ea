"""How much of the file storage a merchant's uploads take, and the most that they may take. Pure.

All uploads count: attachments, what debtors send, and tickets that nothing uses yet. What the
service makes itself (exports, letters) does not.
"""

from dataclasses import dataclass

from dunwell.platform.errors import PayloadTooLarge

# From here on, people are told: at 10 GiB, 2 GiB are left, which is time enough to delete files or
# to raise the limit.
NEAR_PERCENT = 80


class StorageFull(PayloadTooLarge):
    """The merchant's files take so much that this one does not fit."""


@dataclass(frozen=True, slots=True)
class StorageUse:
    used_bytes: int
    limit_bytes: int

    @property
    def percent(self) -> int:
        """Rounded down, so that 100 says that it is full."""
        return 100 * self.used_bytes // self.limit_bytes

    @property
    def is_near_limit(self) -> bool:
        return self.percent >= NEAR_PERCENT

    def check_room(self, size_bytes: int) -> None:
        """Raises StorageFull."""
        if self.used_bytes + size_bytes > self.limit_bytes:
            raise StorageFull(
                f"The merchant's files take {self.used_bytes:,} of {self.limit_bytes:,} bytes, and "
                f"this one has {size_bytes:,}. Delete attachments that are no longer needed: about "
                "an hour after the last claim has lost a file, its space is free. Or ask the "
                "operator for more.",
                limit=self.limit_bytes,
                used=self.used_bytes,
            )
