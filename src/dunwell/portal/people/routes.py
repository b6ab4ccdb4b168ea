"""All pages about people, by name."""

from dunwell.portal.people import (
    routes_account,
    routes_audit,
    routes_factors,
    routes_invitation,
    routes_people,
    routes_sign_in,
    routes_single_sign_on,
)
from dunwell.portal.web.guards import RoutedPages

PAGES: RoutedPages = {
    **routes_sign_in.PAGES,
    **routes_single_sign_on.PAGES,
    **routes_invitation.PAGES,
    **routes_account.PAGES,
    **routes_factors.PAGES,
    **routes_people.PAGES,
    **routes_audit.PAGES,
}
