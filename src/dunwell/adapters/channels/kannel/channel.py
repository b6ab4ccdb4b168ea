"""SMS through a Kannel gateway: sending, delivery reports and received messages.

Text and password are sent in the body and headers, not in the address, because gateways log
addresses. Kannel does not recognise a message that is sent twice, so a message that it may have
accepted is never repeated. The address of a delivery report contains the message's reference, which
only this installation can create. The ids of the provider are kept as received: hexadecimal,
decimal, or without leading zeros. Kannel asks the provider to report only the first part of a
message, so there is one report for each message.
"""

import hmac
import re
from collections.abc import Mapping

from dunwell.accounts.installation.delivery_providers import KannelProvider, ProviderPace
from dunwell.accounts.merchants.configuration import Channel
from dunwell.adapters.channels.gateway import (
    NOT_REACHED,
    ForgedRequest,
    Gateway,
    GatewayProblem,
    UnclearResponse,
    clean_text,
    is_phone_number,
    is_sms_sender,
)
from dunwell.contact.messages.templates.sms_parts import count_parts
from dunwell.contact.sending.channel import (
    Accepted,
    DeliveryProviderUnusable,
    Message,
    Outcome,
    Permanent,
    Temporary,
)
from dunwell.contact.sending.incoming_sms import ReceivedSms
from dunwell.contact.sending.references import build_reference
from dunwell.contact.sending.report import (
    FailureCause,
    Reference,
    Report,
    ReportState,
    compute_number_country,
)
from dunwell.platform.crypto import KeyRing
from dunwell.platform.http.client import HttpResponse

_STATES: dict[str, ReportState] = {"1": "DELIVERED", "2": "FAILED", "16": "FAILED"}
_ARRIVED: tuple[str, FailureCause] = ("", "OTHER")
_REFUSED = re.compile(r"NACK/0x0*([0-9a-fA-F]{1,8})(?:/|$)")
_RECEIPT = re.compile(r"stat:([A-Za-z]{1,10}).*?err:([0-9A-Za-z]{1,8})", re.DOTALL)
# SMPP 3.4, 5.1.3: the provider's error codes for a refused message that concern the recipient's
# number, and those that concern our account, sender or content.
_UNREACHABLE = frozenset({0x0B})
_ABOUT_US = frozenset({0x0A, 0x0D, 0x0E, 0x0F, 0x15, 0x48, 0x49})
_CHARSETS = {"UTF-16BE": "utf-16-be", "ISO-8859-1": "latin-1", "WINDOWS-1252": "cp1252"}
_MAX_ID_LENGTH = 100


def parse_report(
    provider: str, reference: Reference, reference_text: str, values: Mapping[str, str], raw: bytes
) -> Report | None:
    """Return the report, or None if it is not final. `reference_text` is the reference as it is in
    the address."""
    state = _STATES.get(values.get("type", ""))
    if state is None:
        return None
    reason, cause = _ARRIVED if state == "DELIVERED" else _parse_reason(values.get("answer"))
    provider_message_id = clean_text(values.get("id", ""), _MAX_ID_LENGTH)
    return Report(
        provider=provider,
        # Providers reuse their ids. Together with our reference the id is unique.
        provider_message_id=f"{reference_text}/{provider_message_id}",
        state=state,
        happened_at=None,
        reference=reference,
        reason=reason,
        cause=cause,
        raw=raw,
        destination=clean_text(values.get("country", ""), 2) or None,
    )


def _parse_reason(answer: str | None) -> tuple[str, FailureCause]:
    if refused := _REFUSED.search(answer or ""):
        code = int(refused[1], 16)
        reason = f"The provider refused it: error 0x{code:02x}."
        if code in _UNREACHABLE:
            return reason, "ADDRESS"
        return reason, "ABOUT_US" if code in _ABOUT_US else "OTHER"
    if receipt := _RECEIPT.search(answer or ""):
        return f"The provider reported {receipt[1].upper()}, error {receipt[2]}.", "OTHER"
    return "The provider reported that it failed.", "OTHER"


def parse_incoming(provider: str, secret: bytes | None, values: Mapping[str, str]) -> ReceivedSms:
    """Return a received message. `values` are bytes as Latin-1 text. Raises ForgedRequest."""
    given_secret = values.get("secret", "").encode("latin-1")
    if secret is None or not hmac.compare_digest(given_secret, secret):
        raise ForgedRequest("The secret for incoming messages is wrong.")
    text = values.get("text", "").encode("latin-1")
    charset = _CHARSETS.get(values.get("charset", "").upper(), "utf-8")
    return ReceivedSms(
        provider=provider,
        provider_message_id=clean_text(values.get("id", ""), _MAX_ID_LENGTH),
        sender=clean_text(values.get("from", ""), 40),
        recipient=clean_text(values.get("to", ""), 20),
        text=clean_text(text.decode(charset, "replace"), 1_600),
    )


_PATH = "/cgi-bin/sendsms"
# Kannel accepts ten waiting connections. Further clients retry a second later.
_CONNECTIONS = 8
# Delivered, failed, and refused by the provider. Intermediate states are not requested.
_REPORTS_WANTED = 1 | 2 | 16
_UCS2 = "2"
_GSM_7 = "0"
# Kannel keeps a report's address in memory and replaces these escape codes with the values.
_REPORT_VALUES = "type=%d&id=%F&answer=%A"


class KannelChannel:
    """A `ProviderAdapter` for Kannel."""

    channel: Channel = "SMS"
    is_repeatable = False

    def __init__(
        self, name: str, provider: KannelProvider, secrets: Mapping[str, bytes], keys: KeyRing,
        public_url: str,
    ) -> None:  # fmt: skip
        """`secrets` are those of the installation file. Raises DeliveryProviderUnusable."""
        self.name = name
        self._provider = provider
        self._keys = keys
        self._callbacks = f"{public_url}/callbacks/channels/{name}"
        password = secrets.get(f"deliveryProviders/{name}/credentials/passwordFile")
        if password is None:
            raise DeliveryProviderUnusable(
                "The password of the gateway's user is missing. Apply the installation file again."
            )
        self._password = password.decode("latin-1")
        self._gateway = Gateway(name, provider.networks, connections=_CONNECTIONS)

    @property
    def pace(self) -> ProviderPace:
        return self._provider.pace

    async def send(self, message: Message) -> Outcome:
        """Send a message. Raises UnclearResponse."""
        if not is_phone_number(message.recipient):
            return Permanent("The mobile number is not in international format.")
        if not is_sms_sender(message.sender):
            return Permanent("The sender must be a number or a name of 1 to 11 characters.")
        headers = self._build_headers(message)
        url = self._provider.server.rstrip("/") + _PATH
        response = await self._gateway.post(url, message.body_text.encode(), headers)
        return response if isinstance(response, Temporary) else self._interpret(response)

    def _build_headers(self, message: Message) -> dict[str, str]:
        is_gsm_7 = count_parts(message.body_text).alphabet == "GSM-7"
        reference = build_reference(self._keys, message.merchant_id, message.communication_id)
        country = compute_number_country(message.recipient)
        headers = {
            "Content-Type": "text/plain; charset=UTF-8",
            "X-Kannel-Username": self._provider.credentials.user,
            "X-Kannel-Password": self._password,
            "X-Kannel-From": message.sender,
            "X-Kannel-To": message.recipient,
            "X-Kannel-Coding": _GSM_7 if is_gsm_7 else _UCS2,
            "X-Kannel-DLR-Mask": str(_REPORTS_WANTED),
            "X-Kannel-DLR-URL": (
                f"{self._callbacks}/{reference}?country={country}&{_REPORT_VALUES}"
            ),
        }
        if self._provider.smsc is not None:
            headers["X-Kannel-SMSC"] = self._provider.smsc
        return headers

    def _interpret(self, response: HttpResponse) -> Outcome:
        """Interpret the response. Kannel responds with 202 once it has stored the message, and with
        503 if it certainly has not."""
        text = response.start.decode("latin-1")
        match response.status:
            case 202:
                return Accepted(text.strip()[:100])
            case 503:
                return NOT_REACHED
            case 403 if text.startswith("Not routable"):
                return Permanent("The gateway has no route to this number.")
            case 400:
                return Permanent("The gateway rejects the message.")
            case status if 400 <= status < 500:
                return self._gateway.log_refusal(status)
            case status:
                # Kannel does not use this status, so something in front of it responded.
                raise UnclearResponse(str(status))

    async def check(self) -> GatewayProblem | None:
        """Test the connection with a message without a recipient, and return what is wrong, or
        None. The gateway tells an authorised client that the recipient is missing."""
        headers = {
            "Content-Type": "text/plain; charset=UTF-8",
            "X-Kannel-Username": self._provider.credentials.user,
            "X-Kannel-Password": self._password,
            "X-Kannel-To": "",
        }
        url = self._provider.server.rstrip("/") + _PATH
        return await self._gateway.probe(url, b"", headers, expected_status=400)

    async def close(self) -> None:
        await self._gateway.close()
