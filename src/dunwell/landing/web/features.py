"""Pages a merchant can leave out (CONTRACT 11), and that a closed claim has no more."""

from dunwell.errors import NotFound
from dunwell.landing.session.lookup import OpenedClaim
from dunwell.landing.session.states import is_closed
from dunwell.merchants.configuration import Feature


def check_feature(opened: OpenedClaim, feature: Feature) -> None:
    """Raises NotFound."""
    offered = opened.merchant.configuration.landing_page.features
    if feature not in offered or is_closed(opened.facts):
        raise NotFound("This claim has no such page.")
