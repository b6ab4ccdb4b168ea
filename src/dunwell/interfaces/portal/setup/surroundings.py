"""What all pages of the settings share: that they are for who configures, what the installation
offers, how amounts are typed."""

from zoneinfo import available_timezones

from dunwell.accounts.installation.store import load_installation
from dunwell.accounts.merchants.rights import Right
from dunwell.adapters.installed import list_adapters, list_providers
from dunwell.interfaces.portal.setup.sections import Choices
from dunwell.interfaces.portal.web.access import MerchantAccess
from dunwell.interfaces.portal.web.portal_request import PortalRequest
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.web.forms import AmountFormat
from dunwell.operations.merchant_file.check_file import InstallationLimits
from dunwell.operations.merchant_file.logo import LogoMaker
from dunwell.platform.database.database import Connection
from dunwell.platform.errors import NotFound

# Of places: what a clerk looks for, without the aliases.
TIMEZONES = sorted(
    each for each in available_timezones() if "/" in each and not each.startswith(("Etc/", "posix"))
)


def need_configure(access: MerchantAccess) -> None:
    """Raises NotFound: denied looks like absent."""
    if not access.may(Right.CONFIGURE):
        raise NotFound("There is no such page.")


def find_surroundings(site: PortalSite) -> InstallationLimits:
    settings = site.resources.settings
    return InstallationLimits(
        list_adapters(settings), settings.is_development, list_providers(settings)
    )


def find_logo_maker(site: PortalSite, access: MerchantAccess) -> LogoMaker:
    """With the children that also check uploads and print previews."""
    return LogoMaker(site.debtors.inspector, site.debtors.printer, access.person.user_id)


async def find_choices(site: PortalSite, tx: Connection, access: MerchantAccess) -> Choices:
    """A sandbox sends nothing outside, so it has no lines to choose from."""
    surroundings = find_surroundings(site)
    lines: dict[str, list[str]] = {}
    if not access.merchant.is_sandbox:
        installation = (await load_installation(tx)).installation
        for name, line in (installation.delivery_providers or {}).items():
            lines.setdefault(line.channel, []).append(name)
    return Choices(surroundings.available_adapters, lines, surroundings.available_providers)


def find_amount_format(
    site: PortalSite, visit: PortalRequest, access: MerchantAccess
) -> AmountFormat:
    language = site.frame(visit, access).language
    return AmountFormat(access.merchant.configuration.currency, language)
