"""What the addresses for operators and their machines answer."""

from typing import Literal

from dunwell.platform.text.wire import Wire


class Health(Wire, frozen=True):
    status: Literal["ok"]
