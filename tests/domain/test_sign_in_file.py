"""Single sign-on in the installation file: what is refused, and the roles of groups."""

from pathlib import Path
from typing import Any, get_args

import pytest
import yaml

from dunwell.accounts.installation.installation_file import (
    check_installation,
    is_installation,
    list_secret_files,
)
from dunwell.accounts.installation.single_sign_on_settings import GroupRule, RoleName
from dunwell.accounts.merchants.rights import Role
from dunwell.accounts.users.single_sign_on.identities import choose_rules, decide_roles
from dunwell.accounts.users.user import UserRoles
from dunwell.platform.errors import ValidationError

PROVIDER = {
    "name": "kontor", "issuer": "https://login.example.com/realms/staff", "clientId": "dunwell",
    "clientSecretFile": "secrets/oidc",
}  # fmt: skip
_GUIDE = Path(__file__).resolve().parents[2] / "docs/operator/installation-file.md"


def find_paths(sign_in: Any) -> list[str]:
    with pytest.raises(ValidationError) as refused:
        check_installation({"signIn": sign_in})
    return [fault.path for fault in refused.value.faults]


def test_the_roles_in_the_file_are_those_of_users() -> None:
    assert set(get_args(RoleName)) == {str(each) for each in Role}


def test_the_example_of_the_guide_is_accepted() -> None:
    blocks = _GUIDE.read_text().split("```yaml\n")[1:]
    [found] = [text for each in blocks if (text := each.split("```")[0]).startswith("signIn")]
    document = yaml.safe_load(found)
    assert is_installation(document)
    sign_in = check_installation(document).sign_in
    assert sign_in is not None
    assert [each.role for each in sign_in.groups] == ["ADMIN", "OPERATOR", "MERCHANT_USER"]


def test_a_provider_has_a_secret_file() -> None:
    installation = check_installation({"signIn": {"oidc": [PROVIDER]}})
    assert list_secret_files(installation) == {
        "signIn/oidc/kontor/clientSecretFile": "secrets/oidc"
    }


@pytest.mark.parametrize(
    ("changed", "path"),
    [
        ({"issuer": "login.example.com"}, "issuer"), ({"issuer": "https://x/?a=b"}, "issuer"),
        ({"issuer": "https://user@x"}, "issuer"), ({"issuer": "http://login.example"}, "issuer"),
        ({"name": "Kontor Login"}, "name"), ({"name": "../x"}, "name"),
        ({"scopes": ["email"]}, "scopes"), ({"networks": ["0.0.0.0/0"]}, "networks/0"),
        ({"networks": ["here"]}, "networks/0"), ({"clientSecret": "x"}, "clientSecret"),
    ],
    ids=str,
)  # fmt: skip
def test_an_unusable_provider_is_refused(changed: Any, path: str) -> None:
    assert find_paths({"oidc": [{**PROVIDER, **changed}]}) == [f"/signIn/oidc/0/{path}"]


def test_a_provider_in_a_named_network_may_use_plain_http() -> None:
    provider = {**PROVIDER, "issuer": "http://10.0.0.7:8080", "networks": ["10.0.0.7"]}
    check_installation({"signIn": {"oidc": [provider]}})


def test_names_and_issuers_of_providers_are_unique() -> None:
    assert find_paths({"oidc": [PROVIDER, PROVIDER]}) == ["/signIn/oidc/1/name", "/signIn/oidc"]


@pytest.mark.parametrize(
    ("rule", "path"),
    [
        ({"role": "ADMIN", "merchants": ["nordwind"]}, "merchants"),
        ({"role": "MERCHANT_USER"}, "merchants"), ({"role": "BOSS"}, "role"),
        ({"role": "AUDITOR", "merchants": []}, "merchants"),
        ({"role": "AUDITOR", "provider": "nobody"}, "provider"),
    ],
    ids=str,
)  # fmt: skip
def test_a_group_rule_without_a_role_is_refused(rule: Any, path: str) -> None:
    sign_in = {"oidc": [PROVIDER], "groups": [{"group": "g", **rule}]}
    assert find_paths(sign_in) == [f"/signIn/groups/0/{path}"]


def test_single_sign_on_cannot_be_required_without_a_provider() -> None:
    assert find_paths({"required": True}) == ["/signIn/required"]


def test_groups_add_up_and_the_first_role_at_a_merchant_counts() -> None:
    rules = [
        GroupRule(group="a", role="AUDITOR"),
        GroupRule(group="o", role="OPERATOR"),
        GroupRule(group="m", role="MERCHANT_USER", merchants=("shop", "gone")),
        GroupRule(group="s", role="AUDITOR", merchants=("shop", "other")),
    ]
    merchants = {"shop": 1, "other": 2}

    def decide(*groups: str) -> UserRoles:
        return decide_roles(choose_rules(rules, "kontor", frozenset(groups)), merchants)

    assert decide("a", "o") == UserRoles(Role.OPERATOR)
    assert decide("m", "s") == UserRoles(None, {1: Role.MERCHANT_USER, 2: Role.AUDITOR})
    assert decide("a", "m") == UserRoles(Role.AUDITOR, {1: Role.MERCHANT_USER})
    assert decide("x") == UserRoles()
