"""The service's own statements with their parameters, for references that run the same statements.

A stand-in for the connection records what the use case sends, so that no statement is copied here.
"""

from dataclasses import dataclass, field
from typing import Any

from bench.claims import make_submission
from bench.merchant import BenchMerchant
from dunwell.cases.intake.create_claims import create_claims


@dataclass(frozen=True, slots=True)
class Statement:
    sql: str
    values: tuple[Any, ...]


@dataclass(slots=True)
class _Capturing:
    """Responds as if all `count` claims had been created."""

    count: int = 0
    statements: list[Statement] = field(default_factory=list)

    async def fetch(self, sql: str, *values: Any) -> list[dict[str, Any]]:
        self.statements.append(Statement(sql, values))
        return [{"n": n, "claim_id": n + 1, "present_claim_id": None} for n in range(self.count)]


async def capture_creation(bench: BenchMerchant, numbers: range) -> Statement:
    """Return the statement that creates several claims. The merchant's rules must be cached."""
    capturing = _Capturing(len(numbers))
    await create_claims(bench.work(capturing), [make_submission(n) for n in numbers])
    [statement] = capturing.statements
    return statement
