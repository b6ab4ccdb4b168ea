"""The installation file as a value, with the operator and the networks of webhooks, and all faults
of one (CONTRACT 15). Pure.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from ipaddress import ip_network
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from dunwell.accounts.installation.alerts.alert import AlertSettings, find_alert_settings_faults
from dunwell.accounts.installation.delivery_providers import (
    DeliveryProvider,
    DeliveryProviderName,
    ProviderPart,
    Text,
    find_delivery_provider_faults,
    list_provider_secrets,
)
from dunwell.accounts.installation.single_sign_on_settings import (
    SignInSettings,
    find_sign_in_faults,
)
from dunwell.platform.errors import Fault, ValidationError
from dunwell.platform.http.addresses import Network, is_never_granted
from dunwell.platform.text.shape import find_faults, name_renamed_keys, render_pointer
from dunwell.platform.text.texts import find_unprintable, is_email_address

# The creditors' own service, or an agency that collects for them.
OperatorRole = Literal["OWN", "AGENCY"]
TextLine = Annotated[str, Meta(min_length=1, max_length=255)]
# Several lines.
TextBlock = Annotated[str, Meta(min_length=1, max_length=2_000)]


class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel", kw_only=True):
    pass


class OperatorLegal(_Part, frozen=True):
    """As a creditor's, with those who represent it; a sole trader names the owner."""

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
    """Of a debt collector: its number, and the authority that looks after it, with its address and
    how it is reached electronically."""

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


# Who it is at this moment, which an installation file may change.
FindOperator = Callable[[], Operator | None]


def find_no_operator() -> Operator | None:
    """Where no operator was named."""
    return None


NetworkText = Annotated[str, Meta(min_length=1, max_length=50)]


class WebhookNetworks(ProviderPart, frozen=True):
    """The only networks that one merchant's webhooks reach."""

    # Its key.
    merchant: Text
    networks: Annotated[tuple[NetworkText, ...], Meta(min_length=1, max_length=100)]
    # OPTIONAL: its webhooks may be sent in clear there.
    tls: Literal["REQUIRED", "OPTIONAL"] = "REQUIRED"


@dataclass(frozen=True, slots=True)
class WebhookReach:
    """networks: the only ones that are connected to; none: every public address, no private one."""

    networks: tuple[Network, ...] = ()
    allows_http: bool = False


PUBLIC_REACH = WebhookReach()


def find_reach(entries: Sequence[WebhookNetworks] | None, merchant_key: str) -> WebhookReach:
    """What the installation file says of this merchant's webhooks."""
    for each in entries or ():
        if each.merchant == merchant_key:
            networks = tuple(ip_network(network) for network in each.networks)
            return WebhookReach(networks, allows_http=each.tls == "OPTIONAL")
    return PUBLIC_REACH


def parse_reach(document: object, merchant_key: str) -> WebhookReach:
    """document: the key `webhookNetworks` as it is stored, None where there is none."""
    return find_reach(msgspec.convert(document or (), tuple[WebhookNetworks, ...]), merchant_key)


def find_webhook_network_faults(entries: Sequence[WebhookNetworks]) -> Iterator[Fault]:
    """Beyond their shape, with pointers into the file."""
    keys = [each.merchant for each in entries]
    for index, entry in enumerate(entries):
        if entry.merchant in keys[:index]:
            words = f'"{entry.merchant}" is named twice. Put its networks into one entry.'
            yield Fault(render_pointer(["webhookNetworks", index, "merchant"]), words, "REPEATED")
        for place, network in enumerate(entry.networks):
            words = _describe_network_fault(network)
            if words:
                pointer = render_pointer(["webhookNetworks", index, "networks", place])
                yield Fault(pointer, words, "INVALID")


def _describe_network_fault(text: str) -> str:
    """What is wrong with a network, and what to do; empty where nothing is."""
    try:
        network = ip_network(text)
    except ValueError:
        return f'"{text}" is no network. Write it as 10.0.0.7, 10.0.0.0/24 or fd00::/64.'
    if is_never_granted(network):
        return (
            f'"{text}" holds addresses that webhooks never reach, such as those of a cloud\'s '
            "metadata. Name a smaller network of your own."
        )
    return ""


# Old names of keys, by JSON pointer, and their present names.
_RENAMED_KEYS = {"/lines": "deliveryProviders", "/alarms": "alerts", "/alerts/line": "provider"}
# Top-level keys that only an installation file has. The old names are included, so that a file that
# uses one is not mistaken for a merchant file.
_KEYS = (
    "operator", "trustedProxies", "deliveryProviders", "signIn", "alerts", "webhookNetworks",
    "lines", "alarms",
)  # fmt: skip


class Installation(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Every key may be absent; an absent one is left alone when it is applied."""

    # Who runs it, shown to debtors beside the creditor; none: each creditor runs it itself.
    operator: Operator | None = None
    # Networks whose word is taken for where a request came from; nobody's by default.
    trusted_proxies: list[str] | None = None
    # What messages leave by, by name.
    delivery_providers: dict[DeliveryProviderName, DeliveryProvider] | None = None
    # How people sign in; none: by passwords and passkeys of Dunwell's own.
    sign_in: SignInSettings | None = None
    # Who is told when a person is needed; nobody by default.
    alerts: AlertSettings | None = None
    # Merchants whose webhooks are sent into networks of the operator's own.
    webhook_networks: tuple[WebhookNetworks, ...] | None = None


def is_installation(document: Any) -> bool:
    """Whether the value read from a file is meant as an installation's, not as a merchant's."""
    has_key = isinstance(document, dict) and not document.keys().isdisjoint(_KEYS)
    return has_key and "key" not in document


def check_installation(document: Any) -> Installation:
    """Raises ValidationError with every fault."""
    faults = [
        *name_renamed_keys(find_faults(document, Installation), _RENAMED_KEYS),
        *find_unprintable(document),
        *_find_operator_faults(document),
        *_find_network_faults(document),
    ]
    if faults:
        raise ValidationError(faults)
    installation = msgspec.convert(document, Installation)
    faults = list(find_delivery_provider_faults(installation.delivery_providers or {}))
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
        words = f'"{email}" is no plain e-mail address such as "claims@example.com".'
        yield Fault("/operator/contact/email", words, "WRONG_EMAIL")


def _find_network_faults(document: Any) -> Iterator[Fault]:
    networks = document.get("trustedProxies") if isinstance(document, dict) else None
    for index, network in enumerate(networks if isinstance(networks, list) else []):
        if not isinstance(network, str):
            continue  # its shape is told already
        pointer = render_pointer(["trustedProxies", index])
        try:
            parsed = ip_network(network)
        except ValueError:
            words = f'"{network}" is no network. Write it as 10.0.0.7, 10.0.0.0/24 or fd00::/64.'
            yield Fault(pointer, words, "INVALID")
            continue
        if parsed.prefixlen == 0:
            words = f'"{network}" is everybody: each visitor could say where they are. Name yours.'
            yield Fault(pointer, words, "INVALID")


def merge_installations(present: Installation, given: Installation) -> Installation:
    """What stands after `given` was applied: what it leaves out stays as it is."""
    named = {k: v for k, v in msgspec.structs.asdict(given).items() if v is not None}
    return msgspec.structs.replace(present, **named)


def list_secret_files(installation: Installation) -> dict[str, str]:
    """Return the secret files by the name under which each secret is stored, such as
    "deliveryProviders/post/credentials/passwordFile"."""
    providers = installation.sign_in.oidc if installation.sign_in is not None else ()
    of_providers = {each.secret_name: each.client_secret_file for each in providers}
    return {**list_provider_secrets(installation.delivery_providers or {}), **of_providers}


def list_changes(before: Installation, after: Installation) -> list[str]:
    """One line for each key that differs."""
    was = msgspec.to_builtins(before)
    return [
        f"{name}: {_render_value(was[name])} -> {_render_value(value)}"
        for name, value in msgspec.to_builtins(after).items()
        if value != was[name]
    ]


def _render_value(value: Any) -> str:
    """What a key holds, on one line."""
    if isinstance(value, dict):
        parts = [
            f"{name}: {_render_value(each)}" for name, each in value.items() if each is not None
        ]
        return f"({', '.join(parts)})"
    if isinstance(value, list):
        return ", ".join(map(_render_value, value)) or "none"
    return " ".join(str(value).split()) if value else "none"
