"""Apply an installation file. Keys that the file leaves out keep their values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import msgspec

from dunwell.accounts.installation.alerts.alert import find_alert_provider_faults
from dunwell.accounts.installation.audit_log import InstallationAction, save_installation_audit
from dunwell.accounts.installation.delivery_providers import (
    DeliveryProvider,
    FolderProvider,
    SftpProvider,
    describe_letter_location,
)
from dunwell.accounts.installation.installation_file import (
    Installation,
    list_changes,
    list_secret_files,
    merge_installations,
)
from dunwell.accounts.installation.store import (
    InstallationRevision,
    PendingAccountWork,
    delete_other_secrets,
    list_merchants_by_account,
    list_merchants_by_bank,
    list_merchants_by_provider,
    list_pending_account_work,
    list_providers_with_letters,
    load_installation,
    load_secrets,
    lock_installation,
    save_installation,
    save_secrets,
)
from dunwell.platform.database.database import Connection
from dunwell.platform.errors import EditConflict, Fault, ValidationError
from dunwell.platform.resources import Resources
from dunwell.platform.text.shape import render_pointer

_MAX_SECRET_BYTES = 64_000


def read_secret_files(installation_file: Path, installation: Installation) -> dict[str, bytes]:
    """Read the secret files that the installation file names, without trailing line breaks.

    Return the contents by the names of `list_secret_files`. Raises ValidationError with every file
    that cannot be read.
    """
    named = list_secret_files(installation)
    found, faults = {}, []
    for name, path in named.items():
        try:
            content = (installation_file.parent / path).read_bytes()
        except OSError as error:
            message = (
                f"{path} cannot be read ({error.strerror}). A relative path "
                "starts in the folder of this file."
            )
            faults.append(Fault(f"/{name}", message, "UNREADABLE"))
            continue
        secret = content.rstrip(b"\r\n")
        if not 0 < len(secret) <= _MAX_SECRET_BYTES:
            message = f"{path} must hold a secret of 1 to {_MAX_SECRET_BYTES} bytes."
            faults.append(Fault(f"/{name}", message, "INVALID"))
        found[name] = secret
    if faults:
        raise ValidationError(faults)
    return found


_APPLIED_BY = "dunwell apply"
_NO_SECRETS: Mapping[str, bytes] = MappingProxyType({})
# How many merchants a fault names at most.
_MAX_NAMED_MERCHANTS = 10


@dataclass(frozen=True, slots=True)
class InstallationChanges:
    """What applying a file changed, or would change, as lines of text. `revision` is the number of
    the revision in force."""

    revision: int
    changes: list[str]


async def plan_installation(
    resources: Resources, new: Installation, secrets: Mapping[str, bytes] = _NO_SECRETS
) -> InstallationChanges:
    """Return what applying the file would change. Raises ValidationError as `apply_installation`
    does."""
    async with resources.database.connection() as connection:
        current = await load_installation(connection)
        after = merge_installations(current.installation, new)
        await _check_used_providers(connection, current.installation, after)
        changes = list_changes(current.installation, after)
        changes += await _list_abandoned_work(connection, current.installation, after)
        changes += await _list_changed_secrets(resources, connection, secrets)
    return InstallationChanges(current.number, changes)


async def apply_installation(
    resources: Resources, new: Installation, secrets: Mapping[str, bytes] = _NO_SECRETS
) -> InstallationChanges:
    """Apply the file and record the change in the audit log.

    `secrets` are the contents of the secret files, by the names of `list_secret_files`. Raises
    EditConflict if another file was applied at the same moment, ValidationError if a provider,
    account or bank connection that is in use would be removed or moved.
    """
    async with resources.database.transaction() as tx:
        current = await lock_installation(tx)
        after = merge_installations(current.installation, new)
        await _check_used_providers(tx, current.installation, after)
        changes = list_changes(current.installation, after)
        changes += await _list_abandoned_work(tx, current.installation, after)
        changes += await _list_changed_secrets(resources, tx, secrets)
        if not changes:
            return InstallationChanges(current.number, changes)
        revision = InstallationRevision(current.number + 1, after)
        is_saved = await save_installation(
            tx, revision, applied_at=resources.clock.now(), applied_by=_APPLIED_BY
        )
        if not is_saved:
            raise EditConflict(
                "Another installation file was applied in the meantime. Check what it changed and "
                "apply yours again."
            )
        await save_secrets(tx, resources.keys, secrets, resources.clock.now())
        await delete_other_secrets(tx, list(list_secret_files(after)))
        action = _build_audit_row(current.installation, revision)
        await save_installation_audit(tx, action, resources.clock.now(), resources.ids)
    return InstallationChanges(revision.number, changes)


async def _check_used_providers(tx: Connection, before: Installation, after: Installation) -> None:
    """Check that nothing in use is removed or moved: delivery providers, accounts at payment
    providers, and connections to banks.

    A provider that merchants use must stay and keep its channel. A provider whose letters wait for
    a print batch must keep its location, because the letters would never be printed otherwise. The
    provider that sends alerts must stay too. Raises ValidationError.
    """
    providers = after.delivery_providers or {}
    moved = [
        name
        for name, provider in (before.delivery_providers or {}).items()
        if _has_moved(provider, providers.get(name))
    ]
    removed = [
        name
        for name, provider in (before.delivery_providers or {}).items()
        if name not in providers or providers[name].channel != provider.channel
    ]
    used = await list_merchants_by_provider(tx, removed) if removed else {}
    faults = [_build_used_fault(name, keys) for name, keys in sorted(used.items())]
    removed_or_moved = {*removed, *moved}
    waiting = (
        await list_providers_with_letters(tx, sorted(removed_or_moved)) if removed_or_moved else ()
    )
    faults += [
        _build_waiting_letters_fault(name, providers)
        for name in sorted(waiting)
        if name not in used
    ]
    faults += find_alert_provider_faults(after.alerts, providers)
    faults += await _find_used_account_faults(tx, before, after)
    faults += await _find_used_bank_faults(tx, before, after)
    if faults:
        raise ValidationError(faults)


def _build_used_fault(provider: str, merchant_keys: Sequence[str]) -> Fault:
    merchants = ", ".join(merchant_keys[:_MAX_NAMED_MERCHANTS])
    message = (
        f"These merchants send with it: {merchants}. Give them another provider first, "
        "and apply their files."
    )
    return Fault(render_pointer(["deliveryProviders", provider]), message, "IN_USE")


async def _find_used_account_faults(
    tx: Connection, before: Installation, after: Installation
) -> list[Fault]:
    """Return a fault for each account at a payment provider that is in use, and that would be
    removed or lead to another kind of provider, which knows none of the account's checkouts.

    An account is in use if merchants offer it, or if payments, refunds or mandates still need it. A
    closed account can be removed although payments or refunds need it.
    """
    accounts = after.payment_providers or {}
    removed_or_replaced = [
        name
        for name, account in (before.payment_providers or {}).items()
        if not isinstance(accounts.get(name), type(account))
    ]
    if not removed_or_replaced:
        return []
    used = await list_merchants_by_account(tx, removed_or_replaced)
    removed = _list_removed_closed_accounts(before, after)
    pending = {
        each.provider: each
        for each in await list_pending_account_work(tx)
        if each.provider not in removed
    }
    return [
        _build_used_account_fault(name, used.get(name, ()), pending.get(name))
        for name in sorted(removed_or_replaced)
        if name in used or name in pending
    ]


def _list_removed_closed_accounts(before: Installation, after: Installation) -> frozenset[str]:
    kept, accounts = after.payment_providers or {}, before.payment_providers or {}
    return frozenset(
        name for name, account in accounts.items() if account.closed and name not in kept
    )


async def _list_abandoned_work(
    connection: Connection, before: Installation, after: Installation
) -> list[str]:
    """Return a line for each closed account that is removed although payments or refunds need it.
    The line says how many payments and refunds are no longer processed."""
    removed = _list_removed_closed_accounts(before, after)
    if not removed:
        return []
    return [
        f"paymentProviders/{each.provider}: removed for good. Payments that are no longer checked "
        f"for refunds and chargebacks: {each.checked}. Refunds that are not sent and are left to "
        f"the merchants' staff: {each.refunds}."
        for each in await list_pending_account_work(connection)
        if each.provider in removed
    ]


def _build_used_account_fault(
    account: str, merchant_keys: Sequence[str], pending: PendingAccountWork | None
) -> Fault:
    sentences = []
    if merchant_keys:
        merchants = ", ".join(merchant_keys[:_MAX_NAMED_MERCHANTS])
        sentences.append(
            f"These merchants are paid through it: {merchants}. Remove it from their payment "
            "methods and direct debits first, and apply their files. Mandates that debtors gave "
            "with it must have ended."
        )
    if pending is not None:
        sentences.append(
            f"{describe_pending_work(pending)} Keep it in the file until then. If its contract has "
            'ended, apply the file with "closed: true" for it first: then nothing new is started '
            "through it, and it can be removed."
        )
    return Fault(render_pointer(["paymentProviders", account]), " ".join(sentences), "IN_USE")


def describe_pending_work(pending: PendingAccountWork) -> str:
    """Return a sentence that says what an account at a payment provider is still needed for."""
    return (
        "It is still needed. Payments that are checked for refunds and chargebacks, until 13 "
        f"months after they were made: {pending.checked}. Refunds that are not sent yet: "
        f"{pending.refunds}. Mandates of debtors: {pending.mandates}. The newest of them is of "
        f"{pending.newest:%Y-%m-%d}."
    )


async def _find_used_bank_faults(
    tx: Connection, before: Installation, after: Installation
) -> list[Fault]:
    """Return a fault for each connection to a bank that merchants use and that would be removed."""
    kept = after.bank_connections or {}
    removed = [name for name in before.bank_connections or {} if name not in kept]
    used = await list_merchants_by_bank(tx, removed) if removed else {}
    return [_build_used_bank_fault(name, keys) for name, keys in sorted(used.items())]


def _build_used_bank_fault(bank: str, merchant_keys: Sequence[str]) -> Fault:
    merchants = ", ".join(merchant_keys[:_MAX_NAMED_MERCHANTS])
    message = (
        f"The direct debits of these merchants are delivered by it: {merchants}. Change their "
        '"deliverTo" first, and apply their files.'
    )
    return Fault(render_pointer(["bankConnections", bank]), message, "IN_USE")


def _has_moved(provider: DeliveryProvider, after: DeliveryProvider | None) -> bool:
    """Return whether the provider's letters would be stored at another location."""
    if isinstance(provider, FolderProvider | SftpProvider) and isinstance(
        after, FolderProvider | SftpProvider
    ):
        return describe_letter_location(provider) != describe_letter_location(after)
    return False


def _build_waiting_letters_fault(provider: str, providers: Mapping[str, DeliveryProvider]) -> Fault:
    message = "Letters are waiting there for their batch. Remove it after they were released."
    if provider in providers:
        message = (
            "Letters are waiting in its folder for their batch. Change the server, user or folder "
            "after they were released, or add a second provider for the new location."
        )
    return Fault(render_pointer(["deliveryProviders", provider]), message, "IN_USE")


async def _list_changed_secrets(
    resources: Resources, connection: Connection, secrets: Mapping[str, bytes]
) -> list[str]:
    """Return a line for each changed secret, without its value."""
    known = await load_secrets(connection, resources.keys) if secrets else {}
    return [f"{name}: a secret, changed" for name in secrets if known.get(name) != secrets[name]]


def _build_audit_row(before: Installation, revision: InstallationRevision) -> InstallationAction:
    """Build the audit entry. The file holds no secrets, only the names of secret files."""
    was, now = msgspec.to_builtins(before), msgspec.to_builtins(revision.installation)
    changed = [name for name in now if now[name] != was[name]]
    return InstallationAction(
        actor_kind="OPERATOR",
        actor_id=_APPLIED_BY,
        action="installation.apply",
        subject=f"installation:{revision.number}",
        before={name: was[name] for name in changed},
        after={name: now[name] for name in changed},
        origin={"face": "COMMAND_LINE"},
    )
