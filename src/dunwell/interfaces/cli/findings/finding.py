"""What `dunwell doctor` found, and how it is marked. Pure."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DoctorFinding:
    """What was looked at; `remedy` is none when all is well. A note is what somebody may have
    decided, and should know."""

    subject: str
    words: str
    remedy: str | None = None
    is_note: bool = False

    @property
    def is_fault(self) -> bool:
        return self.remedy is not None and not self.is_note

    @property
    def mark(self) -> str:
        if self.remedy is None:
            return "ok"
        return "note" if self.is_note else "FAULT"
