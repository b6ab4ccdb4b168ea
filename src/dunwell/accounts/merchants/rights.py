"""The permissions as one list, and the sets of them for roles, API scopes, debtors and the system
(CONTRACT 14). Every use case checks its permission first. Pure."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import lru_cache


class Right(StrEnum):
    """A permission. Roles and scopes are sets of permissions."""

    # Claims and everything about them: messages, payments, disputes, payment plans, events,
    # workflows.
    READ_CLAIMS = "READ_CLAIMS"
    # Create, assign, pause, archive and withdraw claims; change contact data and files; open a
    # dispute, request a payment plan.
    CHANGE_CLAIMS = "CHANGE_CLAIMS"
    # Payments made elsewhere, reversals, items and fees.
    RECORD_MONEY = "RECORD_MONEY"
    # Answer disputes; approve and reject payment plans.
    ANSWER = "ANSWER"
    # Manage the suppression list, and resolve messages with an unknown delivery status.
    CONTACT_SETTINGS = "CONTACT_SETTINGS"
    # A merchant's configuration, API credentials, webhook endpoints, and drafts of workflows and
    # rules.
    CONFIGURE = "CONFIGURE"
    # Changes to running claims: publish workflows and rules, change scenarios, switch to workflows.
    PUBLISH = "PUBLISH"
    # Users, their roles and sessions.
    PEOPLE = "PEOPLE"
    # The audit log.
    AUDIT = "AUDIT"
    # Replay events, move a sandbox clock, continue after a restore, see the state of the service.
    OPERATE = "OPERATE"


class Role(StrEnum):
    """A user's role at one merchant, several or all."""

    ADMIN = "ADMIN"
    OPERATOR = "OPERATOR"
    AUDITOR = "AUDITOR"
    MERCHANT_USER = "MERCHANT_USER"


class Scope(StrEnum):
    """What an API credential may do. A credential can have several scopes."""

    READ = "READ"
    CLAIMS = "CLAIMS"
    MONEY = "MONEY"
    ALL = "ALL"


ALL_RIGHTS: frozenset[Right] = frozenset(Right)

ROLE_RIGHTS: Mapping[Role, frozenset[Right]] = {
    Role.ADMIN: ALL_RIGHTS,
    Role.OPERATOR: ALL_RIGHTS - {Right.PEOPLE},
    Role.AUDITOR: frozenset({Right.READ_CLAIMS, Right.AUDIT}),
    Role.MERCHANT_USER: frozenset(
        {Right.READ_CLAIMS, Right.CHANGE_CLAIMS, Right.RECORD_MONEY, Right.ANSWER}
    ),
}

# The API does not manage users: even a credential with the scope ALL cannot create one.
SCOPE_RIGHTS: Mapping[Scope, frozenset[Right]] = {
    Scope.READ: frozenset({Right.READ_CLAIMS}),
    Scope.CLAIMS: frozenset({Right.READ_CLAIMS, Right.CHANGE_CLAIMS, Right.ANSWER}),
    Scope.MONEY: frozenset({Right.READ_CLAIMS, Right.RECORD_MONEY}),
    Scope.ALL: ALL_RIGHTS - {Right.PEOPLE},
}

# A debtor's permissions, which apply only to the claim of the debtor's session. CONTACT_SETTINGS
# covers the debtor's own addresses.
DEBTOR_RIGHTS: frozenset[Right] = frozenset(
    {Right.READ_CLAIMS, Right.CHANGE_CLAIMS, Right.CONTACT_SETTINGS}
)

# The permissions of workers, which carry out decisions but do not decide about merchants, workflows
# and users.
SYSTEM_RIGHTS: frozenset[Right] = ALL_RIGHTS - {
    Right.CONFIGURE,
    Right.PUBLISH,
    Right.PEOPLE,
    Right.AUDIT,
}

# Each text completes the sentence "This needs the permission to ...".
RIGHT_WORDS: Mapping[Right, str] = {
    Right.READ_CLAIMS: "read claims",
    Right.CHANGE_CLAIMS: "change claims",
    Right.RECORD_MONEY: "record payments, items and fees",
    Right.ANSWER: "respond to disputes, payment plans and deferrals",
    Right.CONTACT_SETTINGS: "decide who is contacted",
    Right.CONFIGURE: "configure a merchant",
    Right.PUBLISH: "publish workflows and rules",
    Right.PEOPLE: "manage users",
    Right.AUDIT: "read the audit log",
    Right.OPERATE: "operate the service",
}


def order_scopes(scopes: Iterable[Scope]) -> tuple[Scope, ...]:
    """Return the scopes as they are stored and shown: each once, and only ALL if it is
    among them.
    """
    distinct = set(scopes)
    return (
        (Scope.ALL,) if Scope.ALL in distinct else tuple(each for each in Scope if each in distinct)
    )


@lru_cache(maxsize=64)
def rights_of_scopes(scopes: tuple[str, ...]) -> frozenset[Right]:
    """Return the permissions that the stored scopes give a credential."""
    return frozenset().union(*(SCOPE_RIGHTS[Scope(each)] for each in scopes))
