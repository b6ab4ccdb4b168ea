"""Hands messages to a Kannel gateway's sendsms, and asks for reports at an address of ours.

Text and password stand in headers and body, not in the address: gateways log addresses. Kannel
keeps no id of ours, so what may have been taken is not sent again.
"""

from collections.abc import Mapping

from dunwell.accounts.installation.delivery_providers import KannelLine, ProviderPace
from dunwell.accounts.merchants.configuration import Channel
from dunwell.adapters.channels.gateway import (
    AWAY,
    Gateway,
    Trouble,
    UnclearAnswer,
    is_number,
    is_sender,
)
from dunwell.contact.messages.gsm import count_parts
from dunwell.contact.sending.channel import (
    Accepted,
    LineUnusable,
    Message,
    Outcome,
    Permanent,
    Temporary,
)
from dunwell.contact.sending.references import write_reference
from dunwell.contact.sending.report import find_country
from dunwell.platform.crypto import KeyRing
from dunwell.platform.http.client import HttpResponse

_PATH = "/cgi-bin/sendsms"
# Kannel lets ten wait to be taken on; who comes behind them knocks once more a second later.
_CONNECTIONS = 8
# Delivered, failed, and refused by the provider; what is in between is not asked for.
_REPORTS_WANTED = 1 | 2 | 16
_UCS2 = "2"
_GSM_7 = "0"
# Kannel keeps a report's address in its memory and passes it through its own letters for values.
_REPORT_VALUES = "type=%d&id=%F&answer=%A"


class KannelChannel:
    """A `LineAdapter`."""

    channel: Channel = "SMS"
    is_repeatable = False

    def __init__(
        self, name: str, line: KannelLine, secrets: Mapping[str, bytes], keys: KeyRing,
        public_url: str,
    ) -> None:  # fmt: skip
        """secrets: of the installation file. Raises LineUnusable."""
        self.name = name
        self._line = line
        self._keys = keys
        self._callbacks = f"{public_url}/callbacks/channels/{name}"
        password = secrets.get(f"deliveryProviders/{name}/credentials/passwordFile")
        if password is None:
            raise LineUnusable("The password of the gateway's user is not there. Apply it again.")
        self._password = password.decode("latin-1")
        self._gateway = Gateway(name, line.networks, connections=_CONNECTIONS)

    @property
    def pace(self) -> ProviderPace:
        return self._line.pace

    async def send(self, message: Message) -> Outcome:
        """Raises UnclearAnswer."""
        if not is_number(message.recipient):
            return Permanent("The mobile number is none in international format.")
        if not is_sender(message.sender):
            return Permanent("The sender is no number and no name of 1 to 11 letters.")
        headers = self._write_headers(message)
        url = self._line.server.rstrip("/") + _PATH
        answer = await self._gateway.post(url, message.body_text.encode(), headers)
        return answer if isinstance(answer, Temporary) else self._read(answer)

    def _write_headers(self, message: Message) -> dict[str, str]:
        is_narrow = count_parts(message.body_text).alphabet == "GSM-7"
        reference = write_reference(self._keys, message.merchant_id, message.communication_id)
        country = find_country(message.recipient)
        headers = {
            "Content-Type": "text/plain; charset=UTF-8",
            "X-Kannel-Username": self._line.credentials.user,
            "X-Kannel-Password": self._password,
            "X-Kannel-From": message.sender,
            "X-Kannel-To": message.recipient,
            "X-Kannel-Coding": _GSM_7 if is_narrow else _UCS2,
            "X-Kannel-DLR-Mask": str(_REPORTS_WANTED),
            "X-Kannel-DLR-URL": (
                f"{self._callbacks}/{reference}?country={country}&{_REPORT_VALUES}"
            ),
        }
        if self._line.smsc is not None:
            headers["X-Kannel-SMSC"] = self._line.smsc
        return headers

    def _read(self, answer: HttpResponse) -> Outcome:
        """Kannel answers 202 when it has the message safe, and 503 when it surely has not."""
        words = answer.start.decode("latin-1")
        match answer.status:
            case 202:
                return Accepted(words.strip()[:100])
            case 503:
                return AWAY
            case 403 if words.startswith("Not routable"):
                return Permanent("The gateway has no way to this number.")
            case 400:
                return Permanent("The gateway does not take the message as it stands.")
            case status if 400 <= status < 500:
                return self._gateway.tell_refusal(status)
            case status:
                # Kannel gives no such answer: something else stands before it.
                raise UnclearAnswer(str(status))

    async def check(self) -> Trouble | None:
        """Asks for a message to nobody: whoever may send is told that nobody is named."""
        headers = {
            "Content-Type": "text/plain; charset=UTF-8",
            "X-Kannel-Username": self._line.credentials.user,
            "X-Kannel-Password": self._password,
            "X-Kannel-To": "",
        }
        url = self._line.server.rstrip("/") + _PATH
        return await self._gateway.probe(url, b"", headers, welcome=400)

    async def close(self) -> None:
        await self._gateway.close()
