"""What is known of the telling of an occasion. Pure."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Told:
    """at: the merchant's time when a channel had taken the message; none: nobody could be reached,
    or perhaps was not, or it is on its way still."""

    at: datetime | None
    is_under_way: bool = False


UNDER_WAY = Told(None, is_under_way=True)
