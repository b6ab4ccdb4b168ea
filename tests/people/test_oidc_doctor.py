"""Findings of `dunwell doctor` about single sign-on: each provider, and the file."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from dunwell.accounts.installation.single_sign_on_settings import GroupRule, SignInSettings
from dunwell.accounts.users.passwords import SignInServices
from dunwell.interfaces.cli.findings.finding import DoctorFinding
from dunwell.interfaces.cli.findings.installation import (
    check_identity_provider,
    check_sign_in,
    check_sign_in_settings,
    describe_identity_provider,
)
from dunwell.platform.embedded.postgres import EmbeddedPostgres
from tests.support.single_sign_on import (
    ADMINS,
    SECRETS,
    SingleSignOnHarness,
    a_provider,
    a_single_sign_on_harness,
)
from tests.support.users import a_new_user, join

DISCOVERY = "/.well-known/openid-configuration"


@pytest.fixture
async def harness(services: SignInServices) -> AsyncIterator[SingleSignOnHarness]:
    async with a_single_sign_on_harness(services) as harness:
        yield harness


async def list_findings(harness: SingleSignOnHarness) -> DoctorFinding:
    return await check_identity_provider(harness.adapter.settings, SECRETS)


async def test_a_provider_that_matches_its_configuration_is_ok(
    harness: SingleSignOnHarness,
) -> None:
    finding = await list_findings(harness)
    assert (finding.subject, finding.mark) == ("sign-in kontor", "ok")


async def test_a_provider_that_does_not_answer_is_a_fault_with_the_reason(
    harness: SingleSignOnHarness,
) -> None:
    harness.scripted.answers[DISCOVERY] = (503, b"")
    finding = await list_findings(harness)
    assert (finding.mark, finding.words) == ("FAULT", "sign-in does not work: it answers 503")


async def test_another_issuer_is_a_fault(harness: SingleSignOnHarness) -> None:
    harness.scripted.metadata = {"issuer": "https://login.example.com"}
    finding = await list_findings(harness)
    assert finding.words == "sign-in does not work: its metadata names another issuer"


async def test_keys_that_cannot_be_read_are_a_fault(harness: SingleSignOnHarness) -> None:
    harness.scripted.answers["/keys"] = (200, b'{"keys": []}')
    finding = await list_findings(harness)
    assert finding.words == "sign-in does not work: its keys cannot be read"


async def test_a_provider_without_its_secret_is_a_fault(harness: SingleSignOnHarness) -> None:
    finding = await check_identity_provider(harness.adapter.settings, {})
    assert finding.mark == "FAULT"
    assert "client secret" in (finding.remedy or "")


@pytest.mark.parametrize(
    ("skew", "mark"), [(30, "ok"), (-30, "ok"), (31, "FAULT"), (-31, "FAULT"), (None, "ok")]
)
def test_clocks_may_differ_by_half_a_minute(skew: float | None, mark: str) -> None:
    assert describe_identity_provider("sign-in kontor", None, skew).mark == mark


def test_a_file_that_lets_no_user_sign_in_is_a_fault() -> None:
    sign_in = SignInSettings(oidc=(a_provider("https://login.example.com"),))
    assert [each.mark for each in check_sign_in_settings(sign_in, [], 0)] == ["FAULT"]


async def test_unknown_merchants_in_groups_are_noted(
    harness: SingleSignOnHarness, postgres: EmbeddedPostgres
) -> None:
    shop = GroupRule(group="shop", role="AUDITOR", merchants=("gone",))
    await harness.change(groups=(ADMINS, shop))
    found = await check_sign_in(postgres.url, harness.resources.settings)
    assert [each.mark for each in found] == ["ok", "note"]
    assert found[1].words == "groups name merchants that do not exist: gone"


async def test_required_single_sign_on_without_a_break_glass_admin_is_a_fault(
    harness: SingleSignOnHarness, postgres: EmbeddedPostgres
) -> None:
    await harness.change(required=True)

    async def list_marks() -> list[str]:
        found = await check_sign_in(postgres.url, harness.resources.settings)
        return [each.mark for each in found]

    assert await list_marks() == ["ok", "FAULT"]
    await join(harness.services, replace(a_new_user(), is_break_glass=True))
    assert await list_marks() == ["ok"]
