"""The settings of single sign-on: identity providers, and the roles that their groups
give. Pure.
"""

from collections.abc import Iterator, Sequence
from ipaddress import ip_network
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, field

from dunwell.accounts.installation.delivery_providers import Networks, SecretFile, Text
from dunwell.platform.errors import Fault
from dunwell.platform.text.shape import render_pointer

# The roles of `accounts.merchants.rights`, which this package may not import; a test compares the
# two.
RoleName = Literal["ADMIN", "OPERATOR", "AUDITOR", "MERCHANT_USER"]
ProviderName = Annotated[
    str,
    Meta(
        pattern=r"^[a-z0-9][a-z0-9-]{0,39}$(?!\n)",
        description="a short name of lower-case letters, digits and -",
    ),
]
# Compared byte by byte with the issuer that the provider states.
Issuer = Annotated[
    str,
    Meta(
        pattern=r"^https?://[^\s?#@\"<>\\]{1,500}$(?!\n)",
        description='the provider\'s issuer, such as "https://login.example.com/realms/staff"',
    ),
]
Group = Annotated[str, Meta(min_length=1, max_length=500)]
_DEFAULT_SCOPES = ("openid", "email", "profile")


class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel", kw_only=True):
    pass


class IdentityProviderSettings(_Part, frozen=True):
    """An OpenID Connect provider, and Dunwell's registration with it."""

    name: ProviderName
    issuer: Issuer
    client_id: Text
    client_secret_file: SecretFile
    # The text of the provider's sign-in button. Default: the provider's name.
    title: Text | None = None
    scopes: Annotated[tuple[Text, ...], Meta(max_length=20)] = _DEFAULT_SCOPES
    # The claim that lists the user's groups.
    groups_claim: Text = "groups"
    # If set, each sign-in must have one of these authentication context classes.
    acr_values: Annotated[tuple[Text, ...], Meta(max_length=20)] = ()
    # Each sign-in must have all of these authentication methods.
    amr_values: Annotated[tuple[Text, ...], Meta(max_length=20)] = ()
    # The only networks in which the provider may be. If there are none, it may have any public
    # address.
    networks: Networks = ()

    @property
    def display_name(self) -> str:
        return self.title or self.name

    @property
    def secret_name(self) -> str:
        """The name under which the client secret is stored."""
        return f"signIn/oidc/{self.name}/clientSecretFile"


class GroupRule(_Part, frozen=True):
    """The role that the members of a group get."""

    group: Group
    role: RoleName
    # Merchant keys. None: all merchants, including future ones.
    merchants: Annotated[tuple[Text, ...], Meta(min_length=1, max_length=1_000)] | None = None
    # Only groups of this provider count. None: groups of every provider.
    provider: ProviderName | None = None


class SignInSettings(_Part, frozen=True):
    oidc: Annotated[tuple[IdentityProviderSettings, ...], Meta(max_length=10)] = ()
    groups: Annotated[tuple[GroupRule, ...], Meta(max_length=1_000)] = ()
    # Only admins with emergency access can sign in with a password or passkey of Dunwell.
    required: bool = field(default=False)

    def find(self, name: str) -> IdentityProviderSettings | None:
        return next((each for each in self.oidc if each.name == name), None)


def find_sign_in_faults(sign_in: SignInSettings) -> Iterator[Fault]:
    """Yield the faults other than wrong keys and types, with pointers into the file."""
    names = [each.name for each in sign_in.oidc]
    for index, provider in enumerate(sign_in.oidc):
        yield from _find_provider_faults(provider, ["signIn", "oidc", index])
        if provider.name in names[:index]:
            pointer = render_pointer(["signIn", "oidc", index, "name"])
            yield Fault(pointer, f'Two providers are called "{provider.name}".', "INVALID")
    issuers = [each.issuer for each in sign_in.oidc]
    if len(set(issuers)) < len(issuers):
        message = "Two providers have the same issuer, so their users could not be distinguished."
        yield Fault("/signIn/oidc", message, "INVALID")
    for index, rule in enumerate(sign_in.groups):
        yield from _find_rule_faults(rule, names, ["signIn", "groups", index])
    if sign_in.required and not sign_in.oidc:
        message = 'Name a provider under "oidc" first. Without one, no user could sign in.'
        yield Fault("/signIn/required", message, "INVALID")


def _find_provider_faults(
    provider: IdentityProviderSettings, path: Sequence[str | int]
) -> Iterator[Fault]:
    for index, network in enumerate(provider.networks):
        try:
            is_unusable = ip_network(network).prefixlen == 0
        except ValueError:
            is_unusable = True
        if is_unusable:
            message = (
                f'"{network}" is not one of your networks. Write it as 127.0.0.1 or 10.0.0.0/24.'
            )
            yield Fault(render_pointer([*path, "networks", index]), message, "INVALID")
    if provider.issuer.startswith("http://") and not provider.networks:
        message = (
            "Only a provider in your own network may be used without encryption: name its address "
            'in "networks", or use https.'
        )
        yield Fault(render_pointer([*path, "issuer"]), message, "INVALID")
    if "openid" not in provider.scopes:
        message = 'Without the scope "openid" the provider does not identify the user. Add it.'
        yield Fault(render_pointer([*path, "scopes"]), message, "INVALID")


def _find_rule_faults(
    rule: GroupRule, providers: Sequence[str], path: Sequence[str | int]
) -> Iterator[Fault]:
    if rule.role == "ADMIN" and rule.merchants is not None:
        message = 'An admin has this role at all merchants. Leave "merchants" out.'
        yield Fault(render_pointer([*path, "merchants"]), message, "INVALID")
    if rule.role == "MERCHANT_USER" and rule.merchants is None:
        message = "A merchant's user works for single merchants. Name them by their keys."
        yield Fault(render_pointer([*path, "merchants"]), message, "REQUIRED")
    if rule.provider is not None and rule.provider not in providers:
        message = f'There is no provider "{rule.provider}" under "oidc".'
        yield Fault(render_pointer([*path, "provider"]), message, "INVALID")
