"""What anybody may do, as one list of rights; roles, scopes, the debtor and the system are named
sets of them (CONTRACT 14). Which right a use case asks for stands at its beginning. Pure.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import lru_cache


class Right(StrEnum):
    """One thing that can be given and withheld by itself."""

    # Claims and all that was done with them: messages, money, disputes, plans, events, processes.
    READ_CLAIMS = "READ_CLAIMS"
    # Create, assign, pause, archive and withdraw claims, their contact data and their files;
    # raise a dispute, ask for a plan.
    CHANGE_CLAIMS = "CHANGE_CLAIMS"
    # Payments made elsewhere, reversals, items and fees.
    RECORD_MONEY = "RECORD_MONEY"
    # Answer disputes, approve and reject plans.
    ANSWER = "ANSWER"
    # Who is not written to, and what became of a message nobody knows of.
    CONTACT_SETTINGS = "CONTACT_SETTINGS"
    # A merchant's configuration, credentials, endpoints, and drafts of processes and rules.
    CONFIGURE = "CONFIGURE"
    # What changes running claims: published processes and rules, scenarios, the switch.
    PUBLISH = "PUBLISH"
    # Users, their roles and their sessions.
    PEOPLE = "PEOPLE"
    # The audit log.
    AUDIT = "AUDIT"
    # Replay events, move a sandbox clock, go on after a restore, see the service's state.
    OPERATE = "OPERATE"


class Role(StrEnum):
    """What a person is, at one merchant, several or all."""

    ADMIN = "ADMIN"
    OPERATOR = "OPERATOR"
    AUDITOR = "AUDITOR"
    MERCHANT_USER = "MERCHANT_USER"


class Scope(StrEnum):
    """What a credential may do; one credential may have several."""

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

# People are no matter of the API: even a credential of scope ALL never makes a user.
SCOPE_RIGHTS: Mapping[Scope, frozenset[Right]] = {
    Scope.READ: frozenset({Right.READ_CLAIMS}),
    Scope.CLAIMS: frozenset({Right.READ_CLAIMS, Right.CHANGE_CLAIMS, Right.ANSWER}),
    Scope.MONEY: frozenset({Right.READ_CLAIMS, Right.RECORD_MONEY}),
    Scope.ALL: ALL_RIGHTS - {Right.PEOPLE},
}

# Of the one claim that a debtor's session is about; contact settings: of their own addresses.
DEBTOR_RIGHTS: frozenset[Right] = frozenset(
    {Right.READ_CLAIMS, Right.CHANGE_CLAIMS, Right.CONTACT_SETTINGS}
)

# Of the workers: they carry out what others have decided, and decide nothing about merchants,
# processes and people.
SYSTEM_RIGHTS: frozenset[Right] = ALL_RIGHTS - {
    Right.CONFIGURE,
    Right.PUBLISH,
    Right.PEOPLE,
    Right.AUDIT,
}

# "may not <words>"
RIGHT_WORDS: Mapping[Right, str] = {
    Right.READ_CLAIMS: "read claims",
    Right.CHANGE_CLAIMS: "change claims",
    Right.RECORD_MONEY: "record payments, items and fees",
    Right.ANSWER: "answer disputes and payment plans",
    Right.CONTACT_SETTINGS: "decide who is written to",
    Right.CONFIGURE: "configure a merchant",
    Right.PUBLISH: "publish processes and rules",
    Right.PEOPLE: "manage people",
    Right.AUDIT: "read the audit log",
    Right.OPERATE: "operate the service",
}


def order_scopes(scopes: Iterable[Scope]) -> tuple[Scope, ...]:
    """As they are stored and shown: each once, ALL alone, since it holds the others."""
    given = set(scopes)
    return (Scope.ALL,) if Scope.ALL in given else tuple(each for each in Scope if each in given)


@lru_cache(maxsize=64)
def rights_of_scopes(scopes: tuple[str, ...]) -> frozenset[Right]:
    """What a credential with these scopes may do, as they are stored."""
    return frozenset().union(*(SCOPE_RIGHTS[Scope(each)] for each in scopes))


def rights_of_roles(roles: Iterable[Role]) -> frozenset[Right]:
    """What somebody with these roles may do."""
    return frozenset().union(*(ROLE_RIGHTS[each] for each in roles))
