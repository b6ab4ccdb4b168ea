"""What the sites of portal and debtor's pages have in common."""

from dataclasses import dataclass
from datetime import datetime

from dunwell.platform.resources import Resources


@dataclass(frozen=True, slots=True)
class WebSite:
    """The shared services of one interface's pages; one per process."""

    resources: Resources

    @property
    def is_secure(self) -> bool:
        return self.resources.settings.public_url.startswith("https://")

    def now(self) -> datetime:
        """Return the real time. Sessions do not follow a sandbox's clock."""
        return self.resources.clock.now()
