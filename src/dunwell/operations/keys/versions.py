"""The versions of the secret key: what still depends on each, and when one can be retired."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec

from dunwell.accounts.installation.audit_log import InstallationAction, save_installation_audit
from dunwell.operations.keys.sealed_columns import SealedValues
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Connection
from dunwell.platform.errors import InvalidState, NotFound
from dunwell.platform.ids import Ids
from dunwell.platform.key_versions import KnownKeyVersion, load_versions

# Digests, and values derived from a row's id, cannot be computed again with another version,
# because their source is not stored. Each count scans a table, but is rarely requested.
_COUNT_DIGESTS = {
    "suppressions": "SELECT key_version, count(*) FROM suppressions GROUP BY 1",
    "disputes": """
        SELECT key_version, count(*)
        FROM disputes
        WHERE key_version IS NOT NULL AND released_at IS NULL
        GROUP BY 1""",
    "letter codes": "SELECT key_version, count(*) FROM letter_codes GROUP BY 1",
    "check codes": "SELECT key_version, count(*) FROM check_codes GROUP BY 1",
    "messages": "SELECT key_version, count(*) FROM communication_contents GROUP BY 1",
    "notices": """
        SELECT key_version, count(*)
        FROM debtor_notices
        WHERE due_at IS NOT NULL OR expires_at > now() OR recipient_digest IS NOT NULL
        GROUP BY 1""",
    "ledger seals": "SELECT key_version, count(*) FROM ledger_seals GROUP BY 1",
    "installation seals": "SELECT key_version, count(*) FROM installation_seals GROUP BY 1",
}
_LOCK = "SELECT version FROM key_versions ORDER BY version FOR UPDATE"
_RETIRE = """
UPDATE key_versions SET retired_at = now() WHERE version = $1 AND retired_at IS NULL
"""
# Guards are kept for eight days (`contact.messages.guards`) and name no version. They are written
# under every configured version, so a version that was recorded longer ago covers all guards.
_GUARDS_COVERED_AFTER = timedelta(days=9)


class KeyVersionState(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A version of the secret key, and what depends on it."""

    version: int
    # IN_USE, KEPT, MISSING (from this process's settings) or RETIRED.
    state: str
    recorded_at: datetime | None
    # The number of sealed values, and of digests, by kind.
    sealed: Mapping[str, int]
    digests: Mapping[str, int]


async def list_version_states(
    tx: Connection, keys: KeyRing, kinds: Sequence[SealedValues]
) -> list[KeyVersionState]:
    """List the versions with what depends on each, newest first."""
    known = {each.version: each for each in await load_versions(tx)}
    sealed: dict[str, Counter[int]] = {kind.name: Counter() for kind in kinds}
    for kind in kinds:
        sealed[kind.name].update(await kind.count(tx))
    digests = {
        name: dict(map(tuple, await tx.fetch(statement)))
        for name, statement in _COUNT_DIGESTS.items()
    }
    return [
        KeyVersionState(
            version=version,
            state=_decide_state(keys, version, known.get(version)),
            recorded_at=known[version].recorded_at if version in known else None,
            sealed={name: counts.get(version, 0) for name, counts in sealed.items()},
            digests={name: counts.get(version, 0) for name, counts in digests.items()},
        )
        for version in sorted({*known, *keys.versions}, reverse=True)
    ]


async def find_next_version(tx: Connection, keys: KeyRing) -> int:
    """Return a number that no version has had."""
    known = [each.version for each in await load_versions(tx)]
    return max([*known, *keys.versions]) + 1


@dataclass(frozen=True, slots=True)
class AuditStamp:
    """What an audit row needs besides the action: the time, and the source of its id."""

    now: datetime
    ids: Ids


async def retire_version(
    tx: Connection,
    keys: KeyRing,
    kinds: Sequence[SealedValues],
    version: int,
    stamp: AuditStamp,
) -> None:
    """Retire the version, so that it can be removed from the settings. A repetition changes
    nothing. Raises NotFound, and InvalidState if something needs it."""
    await tx.execute(_LOCK)
    await _check_retirable(tx, keys, kinds, version)
    await _retire(tx, version, "key.retire", stamp)


async def abandon_version(
    tx: Connection,
    keys: KeyRing,
    kinds: Sequence[SealedValues],
    version: int,
    stamp: AuditStamp,
) -> None:
    """Give up a lost version, and everything that needs it. Raises NotFound, and InvalidState if
    the version is in the settings."""
    await tx.execute(_LOCK)
    states = {each.version: each for each in await list_version_states(tx, keys, kinds)}
    if version not in states:
        raise NotFound(f"There is no version {version} of the secret key here.")
    if states[version].state in ("IN_USE", "KEPT"):
        raise InvalidState(
            f"Version {version} is in the settings. Only a missing version can be given up."
        )
    await _retire(tx, version, "key.give-up", stamp)


async def _retire(tx: Connection, version: int, action: str, stamp: AuditStamp) -> None:
    if (await tx.execute(_RETIRE, version)).endswith(" 0"):
        return
    entry = InstallationAction(
        actor_kind="OPERATOR",
        actor_id="dunwell key",
        action=action,
        subject=f"key:{version}",
        after={"state": "RETIRED"},
        origin={"face": "COMMAND_LINE"},
    )
    await save_installation_audit(tx, entry, stamp.now, stamp.ids)


async def _check_retirable(
    tx: Connection, keys: KeyRing, kinds: Sequence[SealedValues], version: int
) -> None:
    states = {each.version: each for each in await list_version_states(tx, keys, kinds)}
    state = states.get(version)
    if state is None:
        raise NotFound(f"There is no version {version} of the secret key here.")
    if state.state == "RETIRED":
        return
    if state.state == "IN_USE":
        raise InvalidState(f"Version {version} is in use. See: dunwell key rotate")
    if any(state.sealed.values()):
        what = _describe_counts(state.sealed)
        raise InvalidState(
            f"Version {version} still encrypts {what}. Wait until the worker has encrypted them "
            "again."
        )
    if any(state.digests.values()):
        what = _describe_counts(state.digests)
        raise InvalidState(
            f"Version {version} must stay: {what} were made with it and cannot be created again. "
            "Leave it in DUNWELL_SECRET_KEY, below the current version; nothing new is encrypted "
            "with it."
        )
    _check_guards(states.values(), version, await tx.fetchval("SELECT now()"))


def _check_guards(states: Collection[KeyVersionState], version: int, now: datetime) -> None:
    """Check that another configured version was recorded `_GUARDS_COVERED_AFTER` ago or earlier.
    Until then, only this version recognises persons who were contacted recently. Raises
    InvalidState."""
    others = [
        each.recorded_at
        for each in states
        if each.version != version and each.state in ("IN_USE", "KEPT") and each.recorded_at
    ]
    if not others or min(others) + _GUARDS_COVERED_AFTER > now:
        raise InvalidState(
            f"Version {version} must stay for {_GUARDS_COVERED_AFTER.days} days after the next "
            "one was added: until then, only it recognises the persons who were contacted recently."
        )


def _decide_state(keys: KeyRing, version: int, known: KnownKeyVersion | None) -> str:
    if known is not None and known.retired_at is not None:
        return "RETIRED"
    if version == keys.version:
        return "IN_USE"
    return "KEPT" if version in keys.versions else "MISSING"


def _describe_counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in counts.items() if count)
