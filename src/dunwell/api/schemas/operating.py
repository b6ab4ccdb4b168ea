"""What the addresses for operators and their machines answer."""

from typing import Literal

from dunwell.kit.wire import Wire


class Health(Wire, frozen=True):
    status: Literal["ok"]
