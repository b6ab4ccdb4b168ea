"""The web application of a test process: built once, as its pages' templates alone take longer to
compile than most tests take.

What a test chooses is put into it when the test begins. Merchants, credentials and claims have ids
that no other test's had, so nothing that the application keeps of one test is asked for in another.
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
    """The merchants' API and the debtors' pages over the same resources."""

    def __init__(
        self, resources: Resources, hand_off_origins: Mapping[str, str] | None = None,
        routes: Sequence[BaseRoute] = (), **around: Any,
    ) -> None:  # fmt: skip
        """One of a test's own. hand_off_origins: of providers' own pages, by provider. routes:
        further ones. around: of the portal's `Surroundings`."""
        self.channels: list[ChannelAdapter] = []
        self.providers: dict[str, PaymentProvider] = {}
        # A test that names one takes it back.
        self.operator: Operator | None = None
        debtors = build_site(
            resources, self.providers, hand_off_origins, inspector=INSPECTOR, printer=PRINTER,
            find_operator=lambda: self.operator,
        )  # fmt: skip
        passwords = Passwords(PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
        # What the portal sends to who has signed in leaves by these.
        self.lines: dict[str, ProviderAdapter] = {}
        surroundings = PortalServices(
            passwords, PAINTER, adapters=Adapters((), self.lines.get), channels=self.channels,
            documents=DOCUMENTS, **around,
        )  # fmt: skip
        portal = build_portal_routes(resources, debtors, surroundings)
        pages = [*portal, *list_routes(debtors)]
        self.app = build_app(resources, self.channels, INSPECTOR, [*pages, *routes])


@lru_cache(maxsize=4)
def an_application(resources: Resources) -> Application:
    """The one over these resources."""
    return Application(resources)


def connect(app: Starlette, address: str = "127.0.0.1") -> httpx.AsyncClient:
    """A client from this address."""
    transport = httpx.ASGITransport(app, client=(address, 40000))
    return httpx.AsyncClient(transport=transport, base_url=ORIGIN)
