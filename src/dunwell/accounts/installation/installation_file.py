"""The installation file: its keys, among them the operator and the webhook networks, and the check
of the whole file (CONTRACT 15). Pure."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from ipaddress import ip_network
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from dunwell.accounts.installation.alerts.alert import AlertSettings, find_alert_settings_faults
from dunwell.accounts.installation.bank_connections import (
    BankConnection,
    find_bank_connection_faults,
    list_bank_secret_files,
)
from dunwell.accounts.installation.delivery_providers import (
    DeliveryProvider,
    DeliveryProviderName,
    ProviderPart,
    Text,
    find_delivery_provider_faults,
    list_provider_secret_files,
)
from dunwell.accounts.installation.payment_providers import (
    PaymentAccount,
    find_payment_account_faults,
    list_payment_secret_files,
)
from dunwell.accounts.installation.single_sign_on_settings import (
    SignInSettings,
    find_sign_in_faults,
)
from dunwell.platform.errors import Fault, ValidationError
from dunwell.platform.http.addresses import Network, is_always_forbidden
from dunwell.platform.text.shape import explain_renamed_keys, find_faults, render_pointer
from dunwell.platform.text.texts import find_unprintable, is_email_address

# OWN: the creditors' own service. AGENCY: an agency that collects for them.
OperatorRole = Literal["OWN", "AGENCY"]
TextLine = Annotated[str, Meta(min_length=1, max_length=255)]
# May have several lines.
TextBlock = Annotated[str, Meta(min_length=1, max_length=2_000)]


class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel", kw_only=True):
    pass


class OperatorLegal(_Part, frozen=True):
    """The operator's legal details, with its representatives. A sole trader names the owner."""

    name: TextLine
    address: TextBlock
    representatives: Annotated[list[TextLine], Meta(min_length=1)]
    register: TextLine | None = None
    supervisory_authority: TextLine | None = None
    vat_id: TextLine | None = None


class OperatorContact(_Part, frozen=True):
    email: TextLine
    phone: TextLine | None = None
    hours: TextLine | None = None


class Registration(_Part, frozen=True):
    """A debt collector's registration: its number, and the supervisory authority with its postal
    address and electronic contact."""

    number: TextLine
    authority: TextBlock


class Operator(_Part, frozen=True):
    role: OperatorRole
    legal: OperatorLegal
    contact: OperatorContact
    registration: Registration | None = None

    @property
    def is_agency(self) -> bool:
        return self.role == "AGENCY"


# Returns the current operator, which an applied installation file can change.
FindOperator = Callable[[], Operator | None]


def find_no_operator() -> Operator | None:
    """The `FindOperator` of an installation without an operator."""
    return None


NetworkText = Annotated[str, Meta(min_length=1, max_length=50)]


class WebhookNetworks(ProviderPart, frozen=True):
    """The only networks to which one merchant's webhooks are sent."""

    # The merchant's key.
    merchant: Text
    networks: Annotated[tuple[NetworkText, ...], Meta(min_length=1, max_length=100)]
    # OPTIONAL: webhooks in these networks may use http.
    tls: Literal["REQUIRED", "OPTIONAL"] = "REQUIRED"


@dataclass(frozen=True, slots=True)
class WebhookReach:
    """Where a merchant's webhooks may be sent: only to `networks` or, if there are none, to every
    public address and no private one."""

    networks: tuple[Network, ...] = ()
    allows_http: bool = False


PUBLIC_REACH = WebhookReach()


def find_reach(entries: Sequence[WebhookNetworks] | None, merchant_key: str) -> WebhookReach:
    """Return where the entries of the installation file allow this merchant's webhooks to be
    sent."""
    for each in entries or ():
        if each.merchant == merchant_key:
            networks = tuple(ip_network(network) for network in each.networks)
            return WebhookReach(networks, allows_http=each.tls == "OPTIONAL")
    return PUBLIC_REACH


def parse_reach(document: object, merchant_key: str) -> WebhookReach:
    """Parse the stored `webhookNetworks` key (None if the file does not have it), and return where
    this merchant's webhooks may be sent."""
    return find_reach(msgspec.convert(document or (), tuple[WebhookNetworks, ...]), merchant_key)


def find_webhook_network_faults(entries: Sequence[WebhookNetworks]) -> Iterator[Fault]:
    """Yield the faults other than wrong keys and types, with pointers into the file."""
    keys = [each.merchant for each in entries]
    for index, entry in enumerate(entries):
        if entry.merchant in keys[:index]:
            message = f'"{entry.merchant}" appears twice. Put its networks into one entry.'
            yield Fault(render_pointer(["webhookNetworks", index, "merchant"]), message, "REPEATED")
        for position, network in enumerate(entry.networks):
            message = _describe_network_fault(network)
            if message:
                pointer = render_pointer(["webhookNetworks", index, "networks", position])
                yield Fault(pointer, message, "INVALID")


def _describe_network_fault(text: str) -> str:
    """Return what is wrong with a network and how to correct it, or an empty text."""
    try:
        network = ip_network(text)
    except ValueError:
        return f'"{text}" is not a network. Write it as 10.0.0.7, 10.0.0.0/24 or fd00::/64.'
    if is_always_forbidden(network):
        return (
            f'"{text}" contains addresses to which webhooks are never sent, such as a cloud\'s '
            "metadata service. Name a smaller network."
        )
    return ""


# Renamed keys: the old name as JSON pointer, and the current name.
_RENAMED_KEYS = {"/lines": "deliveryProviders", "/alarms": "alerts", "/alerts/line": "provider"}
# Top-level keys that only an installation file has. The old names are included so that a file with
# one of them is not mistaken for a merchant file.
_KEYS = (
    "operator", "trustedProxies", "deliveryProviders", "paymentProviders", "bankConnections",
    "signIn", "alerts", "webhookNetworks", "lines", "alarms",
)  # fmt: skip


class Installation(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The installation file. A missing key keeps its value when the file is applied."""

    # Shown to debtors next to the creditor. None: each creditor operates the service itself.
    operator: Operator | None = None
    # Networks of proxies whose X-Forwarded-For header is trusted. Default: none.
    trusted_proxies: list[str] | None = None
    # The delivery providers by name.
    delivery_providers: dict[DeliveryProviderName, DeliveryProvider] | None = None
    # The accounts at payment providers by name.
    payment_providers: dict[DeliveryProviderName, PaymentAccount] | None = None
    # The connections to banks by name.
    bank_connections: dict[DeliveryProviderName, BankConnection] | None = None
    # How users sign in. None: with Dunwell's own passwords and passkeys.
    sign_in: SignInSettings | None = None
    # Who is notified of alerts. By default, alerts are only shown in the portal.
    alerts: AlertSettings | None = None
    # Merchants whose webhooks may be sent to the operator's private networks.
    webhook_networks: tuple[WebhookNetworks, ...] | None = None


def is_installation(document: Any) -> bool:
    """Return whether the parsed file is an installation file and not a merchant file."""
    has_key = isinstance(document, dict) and not document.keys().isdisjoint(_KEYS)
    return has_key and "key" not in document


def check_installation(document: Any) -> Installation:
    """Parse an installation file. Raises ValidationError with every fault."""
    faults = [
        *explain_renamed_keys(find_faults(document, Installation), _RENAMED_KEYS),
        *find_unprintable(document),
        *_find_operator_faults(document),
        *_find_network_faults(document),
    ]
    if faults:
        raise ValidationError(faults)
    installation = msgspec.convert(document, Installation)
    faults = list(find_delivery_provider_faults(installation.delivery_providers or {}))
    faults += find_payment_account_faults(installation.payment_providers or {})
    faults += find_bank_connection_faults(installation.bank_connections or {})
    if installation.sign_in is not None:
        faults += find_sign_in_faults(installation.sign_in)
    if installation.alerts is not None:
        faults += find_alert_settings_faults(installation.alerts)
    faults += find_webhook_network_faults(installation.webhook_networks or ())
    if faults:
        raise ValidationError(faults)
    return installation


def _find_operator_faults(document: Any) -> Iterator[Fault]:
    operator = document.get("operator") if isinstance(document, dict) else None
    contact = operator.get("contact") if isinstance(operator, dict) else None
    email = contact.get("email") if isinstance(contact, dict) else None
    if isinstance(email, str) and not is_email_address(email):
        message = f'"{email}" is not a plain e-mail address such as "claims@example.com".'
        yield Fault("/operator/contact/email", message, "WRONG_EMAIL")


def _find_network_faults(document: Any) -> Iterator[Fault]:
    networks = document.get("trustedProxies") if isinstance(document, dict) else None
    for index, network in enumerate(networks if isinstance(networks, list) else []):
        if not isinstance(network, str):
            continue  # `find_faults` reports it.
        pointer = render_pointer(["trustedProxies", index])
        try:
            parsed = ip_network(network)
        except ValueError:
            message = (
                f'"{network}" is not a network. Write it as 10.0.0.7, 10.0.0.0/24 or fd00::/64.'
            )
            yield Fault(pointer, message, "INVALID")
            continue
        if parsed.prefixlen == 0:
            message = f'"{network}" trusts every address. Name only the networks of your proxies.'
            yield Fault(pointer, message, "INVALID")


def merge_installations(current: Installation, new: Installation) -> Installation:
    """Return the installation after `new` was applied. Keys that `new` leaves out keep their
    values."""
    named = {k: v for k, v in msgspec.structs.asdict(new).items() if v is not None}
    return msgspec.structs.replace(current, **named)


def list_secret_files(installation: Installation) -> dict[str, str]:
    """Return the path of each secret file, by the name under which its secret is stored, such as
    "deliveryProviders/post/credentials/passwordFile"."""
    identity_providers = installation.sign_in.oidc if installation.sign_in is not None else ()
    return {
        **list_provider_secret_files(installation.delivery_providers or {}),
        **list_payment_secret_files(installation.payment_providers or {}),
        **list_bank_secret_files(installation.bank_connections or {}),
        **{each.secret_name: each.client_secret_file for each in identity_providers},
    }


def list_changes(before: Installation, after: Installation) -> list[str]:
    """Return one line for each key that differs."""
    values_before = msgspec.to_builtins(before)
    return [
        f"{name}: {_render_value(values_before[name])} -> {_render_value(value)}"
        for name, value in msgspec.to_builtins(after).items()
        if value != values_before[name]
    ]


def _render_value(value: Any) -> str:
    """Return the value of a key on one line."""
    if isinstance(value, dict):
        parts = [
            f"{name}: {_render_value(each)}" for name, each in value.items() if each is not None
        ]
        return f"({', '.join(parts)})"
    if isinstance(value, list):
        return ", ".join(map(_render_value, value)) or "none"
    return " ".join(str(value).split()) if value else "none"
