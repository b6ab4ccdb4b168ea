"""Figures of the debtor's pages: counts, no personal data."""

from prometheus_client import Counter

from dunwell.kit.figures import REGISTRY

_WRONG_CODES = Counter(
    "dunwell_landing_wrong_codes",
    "Codes typed on the debtor's page that no letter bears.",
    registry=REGISTRY,
)


def count_wrong_code() -> None:
    _WRONG_CODES.inc()
