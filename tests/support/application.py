"""The web application of a test process. It is built once, because compiling its templates takes
longer than most tests.

Each test sets its own values when it begins. Merchants, credentials and claims have ids that no
other test used, so no test meets a value that the application cached for another.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import httpx
from argon2 import PasswordHasher
from starlette.applications import Starlette
from starlette.routing import BaseRoute

from dunwell.accounts.installation.installation_file import Operator
from dunwell.accounts.users.passwords import Passwords
from dunwell.cases.payments.provider import PaymentProvider
from dunwell.contact.sending.adapters import Adapters
from dunwell.contact.sending.channel import ChannelAdapter, ProviderAdapter
from dunwell.interfaces.api.app import build_app
from dunwell.interfaces.landing.application import build_site, list_routes
from dunwell.interfaces.portal.application import build_portal_routes
from dunwell.interfaces.portal.web.site import PortalServices
from dunwell.platform.resources import Resources
from tests.support.children import DOCUMENTS, INSPECTOR, PAINTER, PRINTER

ORIGIN = "http://127.0.0.1:8000"


class Application:
    """The merchants' API and the debtor pages on the same resources."""

    def __init__(
        self, resources: Resources, hand_off_origins: Mapping[str, str] | None = None,
        routes: Sequence[BaseRoute] = (), **around: Any,
    ) -> None:  # fmt: skip
        """Build an application for one test only. `hand_off_origins` holds the origins of payment
        providers' pages, by provider; `routes` holds further routes; `around` holds the portal's
        `Surroundings`."""
        self.channels: list[ChannelAdapter] = []
        self.providers: dict[str, PaymentProvider] = {}
        # A test that sets an operator resets it at its end.
        self.operator: Operator | None = None
        debtors = build_site(
            resources, self.providers, hand_off_origins, inspector=INSPECTOR, printer=PRINTER,
            find_operator=lambda: self.operator,
        )  # fmt: skip
        passwords = Passwords(PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
        # The delivery providers that send the portal's messages to signed-in users.
        self.delivery_providers: dict[str, ProviderAdapter] = {}
        surroundings = PortalServices(
            passwords, PAINTER, adapters=Adapters((), self.delivery_providers.get),
            channels=self.channels,
            documents=DOCUMENTS, **around,
        )  # fmt: skip
        portal = build_portal_routes(resources, debtors, surroundings)
        pages = [*portal, *list_routes(debtors)]
        self.app = build_app(resources, self.channels, INSPECTOR, [*pages, *routes])


@lru_cache(maxsize=4)
def an_application(resources: Resources) -> Application:
    """Return the shared application on these resources."""
    return Application(resources)


def connect(app: Starlette, address: str = "127.0.0.1") -> httpx.AsyncClient:
    """Return a client that connects from this address."""
    transport = httpx.ASGITransport(app, client=(address, 40000))
    return httpx.AsyncClient(transport=transport, base_url=ORIGIN)
