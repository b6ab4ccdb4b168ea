"""One result of `dunwell doctor`, and its mark. Pure."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DoctorFinding:
    """The result of one check. `remedy` is None when there is nothing to do. A note is something
    that may be intended, but that the operator should know."""

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
