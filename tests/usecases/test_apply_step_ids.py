"""A merchant file cannot reuse a step id for another kind; the fault has the path in the file."""

from pathlib import Path

import pytest

from dunwell.platform.errors import ValidationError
from dunwell.platform.resources import Resources
from tests.usecases.test_apply import Applying


async def test_a_step_id_reused_for_another_kind_is_a_fault_of_the_file(
    resources: Resources, tmp_path: Path
) -> None:
    applying = Applying(resources, tmp_path)
    await applying.apply()
    before = await applying.rows()
    applying.definition["steps"][4] = {
        "id": 5, "name": "Last mark", "kind": "CHECKPOINT", "offset": 1, "message": "x",
    }  # fmt: skip
    for attempt in (applying.apply, applying.plan):
        with pytest.raises(ValidationError) as refusal:
            await attempt()
        assert [(fault.path, fault.code) for fault in refusal.value.faults] == [
            ("/workflows/0/definition/steps/4/id", "ID_REUSED")
        ]
    assert await applying.rows() == before
