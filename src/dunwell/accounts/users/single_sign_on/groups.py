"""What somebody's groups at a provider make of them here. Pure."""

from collections.abc import Mapping, Sequence

from dunwell.accounts.installation.sign_in import GroupRule, Provider
from dunwell.accounts.merchants.rights import Role
from dunwell.accounts.users.single_sign_on.provider import Told
from dunwell.accounts.users.user import Place

# Where several apply, the first: over all merchants, and at one.
_EVERYWHERE = (Role.ADMIN, Role.OPERATOR, Role.AUDITOR)
_AT_MERCHANT = (Role.OPERATOR, Role.MERCHANT_USER, Role.AUDITOR)


def choose_rules(
    rules: Sequence[GroupRule], provider: str, groups: frozenset[str]
) -> Sequence[GroupRule]:
    """Those that apply. Groups are compared byte by byte."""
    return [rule for rule in rules if rule.group in groups and rule.provider in (None, provider)]


def decide_place(rules: Sequence[GroupRule], merchants: Mapping[str, int]) -> Place:
    """rules: those that apply. merchants: ids by key; one that is not there gives nothing."""
    everywhere = {Role(rule.role) for rule in rules if rule.merchants is None}
    at: dict[int, set[Role]] = {}
    for rule in rules:
        for key in rule.merchants or ():
            if key in merchants:
                at.setdefault(merchants[key], set()).add(Role(rule.role))
    return Place(
        _choose_first(_EVERYWHERE, everywhere),
        {
            merchant_id: role
            for merchant_id, roles in sorted(at.items())
            if (role := _choose_first(_AT_MERCHANT, roles)) is not None
        },
    )


def is_nothing(place: Place) -> bool:
    return place.everywhere is None and not place.memberships


def is_strong_enough(provider: Provider, told: Told) -> bool:
    """Whether the sign-in there was as strong as the installation file asks."""
    is_known = not provider.acr_values or told.acr in provider.acr_values
    return is_known and told.amr.issuperset(provider.amr_values)


def _choose_first(order: Sequence[Role], among: set[Role]) -> Role | None:
    return next((role for role in order if role in among), None)
