"""Why a debit cannot be released."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec
import pytest

from dunwell.accounts.merchants.actor import ActorKind
from dunwell.accounts.merchants.configuration import BankAccount, DirectDebitSettings
from dunwell.cases.direct_debit.debit_values import (
    CancelReason,
    Collection,
    CollectionState,
    Mandate,
    MandateState,
)
from dunwell.cases.direct_debit.files.release_debits import find_obstacle
from dunwell.cases.modalities.instalments import Instalment
from dunwell.cases.modalities.modality import Modality, ModalityState, ModalityType

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
# A Monday. With two banking days the file has to be delivered on Thursday the 12th.
DEBITED_ON, LAST_DAY = date(2026, 3, 16), date(2026, 3, 12)
ID = UUID(int=1)
CREDITOR_ID = "DE98ZZZ09999999999"
SETTINGS = DirectDebitSettings(
    creditor_id=CREDITOR_ID, account=BankAccount("DE89370400440532013000", "Nordwind GmbH")
)
MANDATE = Mandate(
    mandate_id=ID, claim_id=1, modality_id=ID, creditor_id=CREDITOR_ID, reference="1-1-1",
    account_sealed=b"1", account_shown="DE 2051", text="I authorise", language="en", signed_at=NOW,
    signed_on=NOW.date(), actor_kind="DEBTOR", actor_id=None, state=MandateState.ACTIVE,
    expires_on=DEBITED_ON,
)  # fmt: skip
COLLECTION = Collection(
    collection_id=ID, mandate_id=ID, claim_id=1, modality_id=ID, instalment=1, due_on=DEBITED_ON,
    collected_on=DEBITED_ON, amount_cents=3414, currency="EUR", state=CollectionState.PRENOTIFIED,
    end_to_end_id="E1",
)  # fmt: skip
PLAN = Modality(
    modality_id=ID, claim_id=1, type=ModalityType.PAYMENT_PLAN, state=ModalityState.APPROVED,
    currency="EUR", amount_cents=3414, schedule=(Instalment(1, DEBITED_ON, 3414),), paid_cents=0,
    requested_at=NOW, actor_kind=ActorKind.DEBTOR,
)  # fmt: skip


def test_a_debit_is_released_until_the_last_day_of_its_mandate_and_of_the_bank() -> None:
    assert find_obstacle(COLLECTION, MANDATE, PLAN, SETTINGS, LAST_DAY) is None


@pytest.mark.parametrize(
    ("mandate", "plan", "today", "reason"),
    [
        ({"state": MandateState.REVOKED}, {}, LAST_DAY, CancelReason.MANDATE_ENDED),
        ({"creditor_id": "DE22ZZZ00000000001"}, {}, LAST_DAY, CancelReason.MANDATE_ENDED),
        (
            {"expires_on": DEBITED_ON - timedelta(days=1)}, {}, LAST_DAY,
            CancelReason.MANDATE_ENDED,
        ),
        ({}, {"state": ModalityState.REQUESTED}, LAST_DAY, CancelReason.PLAN_ENDED),
        (
            {}, {"schedule": (Instalment(1, DEBITED_ON, 3414, paid_cents=1),)}, LAST_DAY,
            CancelReason.PAID,
        ),
        ({}, {}, LAST_DAY + timedelta(days=1), CancelReason.NOT_RELEASED),
    ],
)  # fmt: skip
def test_each_obstacle_alone_prevents_a_release(
    mandate: Mapping[str, Any], plan: Mapping[str, Any], today: date, reason: CancelReason
) -> None:
    changed = msgspec.structs.replace(PLAN, **plan)
    found = find_obstacle(COLLECTION, replace(MANDATE, **mandate), changed, SETTINGS, today)
    assert found is reason


def test_a_plan_that_has_ended_prevents_a_release() -> None:
    found = find_obstacle(COLLECTION, MANDATE, None, SETTINGS, LAST_DAY)
    assert found is CancelReason.PLAN_ENDED
