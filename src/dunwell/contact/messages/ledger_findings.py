"""What checking a ledger can find, and the collecting of it. Pure."""

from dataclasses import dataclass, field
from enum import StrEnum

# Kept of one merchant; the rest are counted.
MOST_FINDINGS = 1000


class Fault(StrEnum):
    ROW_ALTERED = "ROW_ALTERED"
    ROWS_MISSING = "ROWS_MISSING"
    ROWS_ADDED = "ROWS_ADDED"
    SEAL_ALTERED = "SEAL_ALTERED"
    SEAL_MISSING = "SEAL_MISSING"
    HEAD_MISSING = "HEAD_MISSING"
    CONTACTED_TWICE = "CONTACTED_TWICE"
    CONTACT_CONTRADICTS = "CONTACT_CONTRADICTS"
    CONTACT_MISSING = "CONTACT_MISSING"
    CONTENT_ALTERED = "CONTENT_ALTERED"
    RECIPIENT_ALTERED = "RECIPIENT_ALTERED"


@dataclass(frozen=True, slots=True)
class Finding:
    fault: Fault
    # In words: which row, contact or seal, and what is wrong with it.
    message: str
    # The seal it is about, if it is about one.
    seal: int | None = None


@dataclass(slots=True)
class Findings:
    listed: list[Finding] = field(default_factory=list)
    count: int = 0

    def add(self, finding: Finding) -> None:
        self.count += 1
        if len(self.listed) < MOST_FINDINGS:
            self.listed.append(finding)
