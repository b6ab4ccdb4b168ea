"""The accounts at payment providers in the installation file, and their faults. Pure."""

from collections.abc import Iterator, Mapping

from dunwell.accounts.installation.delivery_providers import (
    BaseUrl,
    Networks,
    ProviderPart,
    SecretFile,
    find_network_faults,
    list_provider_secret_files,
)
from dunwell.platform.errors import Fault
from dunwell.platform.text.shape import render_pointer

_KEY = "paymentProviders"
# Names that mean something else in a merchant file or in a payment.
_RESERVED_NAMES = ("sandbox", "bank-transfer")


class _PaymentAccountPart(ProviderPart, frozen=True, kw_only=True):
    """The keys that all accounts have."""

    # True if the contract with the provider has ended. Nothing new is started through the account,
    # and the account may be removed. Its earlier payments are still checked while its key works.
    closed: bool = False


class StripeAccount(_PaymentAccountPart, frozen=True, tag_field="adapter", tag="stripe"):
    """An account at Stripe."""

    # A secret key, or better a restricted one: "rk_live_...".
    secret_key_file: SecretFile
    # The signing secret of the webhook endpoint: "whsec_...".
    webhook_secret_file: SecretFile
    base_url: BaseUrl = "https://api.stripe.com"
    # Only for a server in your own network. Without any, every public address is allowed.
    networks: Networks = ()


class MollieAccount(_PaymentAccountPart, frozen=True, tag_field="adapter", tag="mollie"):
    """A website profile at Mollie."""

    # The profile's API key: "live_...".
    api_key_file: SecretFile
    # An organisation access token with the permission settlements.read. Payouts cannot be listed
    # without it.
    access_token_file: SecretFile | None = None
    # The signing secret of a webhook that was created in Mollie's dashboard. The webhooks of
    # payments are not signed and need none.
    webhook_secret_file: SecretFile | None = None
    base_url: BaseUrl = "https://api.mollie.com"
    networks: Networks = ()


class GoCardlessAccount(_PaymentAccountPart, frozen=True, tag_field="adapter", tag="gocardless"):
    """An account at GoCardless."""

    access_token_file: SecretFile
    webhook_secret_file: SecretFile
    base_url: BaseUrl = "https://api.gocardless.com"
    networks: Networks = ()


PaymentAccount = StripeAccount | MollieAccount | GoCardlessAccount
# The kinds of accounts that collect the instalments of payment plans with mandates.
_MANDATE_ACCOUNTS = (GoCardlessAccount,)


def list_mandate_accounts(accounts: Mapping[str, PaymentAccount]) -> frozenset[str]:
    """Return the names of the accounts that collect with mandates."""
    return frozenset(
        name for name, account in accounts.items() if isinstance(account, _MANDATE_ACCOUNTS)
    )


def list_payment_secret_files(accounts: Mapping[str, PaymentAccount]) -> dict[str, str]:
    """Return the path of each secret file, by the name under which its secret is stored, such as
    "paymentProviders/cards/secretKeyFile"."""
    return list_provider_secret_files(accounts, _KEY)


def find_payment_secret(secrets: Mapping[str, bytes], account: str, key: str) -> bytes | None:
    """Return the secret of an account. `key` is the key in the installation file, such as
    "secretKeyFile"."""
    return secrets.get(f"{_KEY}/{account}/{key}")


def find_payment_account_faults(accounts: Mapping[str, PaymentAccount]) -> Iterator[Fault]:
    """Yield the faults other than wrong keys and types, with pointers into the file."""
    for name, account in accounts.items():
        path = [_KEY, name]
        if name in _RESERVED_NAMES:
            message = f'"{name}" has a special meaning in merchant files. Choose another name.'
            yield Fault(render_pointer(path), message, "NOT_ALLOWED")
        yield from find_network_faults(path, account.networks)
        if account.base_url.startswith("http://") and not account.networks:
            message = (
                "Only a server in your own network may be used without encryption: name its "
                'address in "networks", or use https.'
            )
            yield Fault(render_pointer([*path, "baseUrl"]), message, "INVALID")
