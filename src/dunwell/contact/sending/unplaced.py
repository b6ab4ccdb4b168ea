"""What nobody could place: messages that people wrote to lines, and reports of channels. Pure."""

from typing import Literal

UnplacedKind = Literal["sms", "reports"]
