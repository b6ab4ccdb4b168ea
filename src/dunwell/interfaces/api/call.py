"""An authenticated request, as it is passed to the function that runs its use case."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import Actor, credential_actor
from dunwell.accounts.merchants.credentials.credential import CredentialAccess
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.cases.intake.create_together import ClaimIntake
from dunwell.contact.sending.channel import ChannelAdapter
from dunwell.core.files.inspection import Inspector
from dunwell.core.files.storage import SealedFiles
from dunwell.interfaces.api.address import Query
from dunwell.platform.database.database import Connection
from dunwell.platform.http.multipart import FormPart
from dunwell.platform.resources import Resources


@dataclass(frozen=True, slots=True)
class ApiServices:
    """The services that all requests share. They are opened once, when the application is built."""

    resources: Resources
    channels: Sequence[ChannelAdapter]
    storage: SealedFiles
    inspector: Inspector
    intake: ClaimIntake


@dataclass(slots=True)
class ApiCall:
    tools: ApiServices
    access: CredentialAccess
    merchant: Merchant
    path: Mapping[str, str]
    query: Query
    body: bytes = b""
    parts: list[FormPart] = field(default_factory=list)
    # The open transaction or connection. None while the body is read, and for use cases that open
    # their own.
    tx: Connection | None = None
    # When the credential was last checked, on the monotonic clock, in seconds.
    admitted_at: float = 0.0
    # The result of the endpoint's `prepare`.
    prepared: Any = None

    @property
    def actor(self) -> Actor:
        return credential_actor(self.access.client_id, self.access.rights)

    @property
    def work(self) -> Work:
        assert self.tx is not None
        return Work.open(self.tools.resources, self.tx, self.merchant, self.actor)
