"""The tests of a promise are meaningful only if they can fail. With each of these faults planted,
they do."""

from pathlib import Path

import pytest

from tests.controls.planted import FAULTS, Fault, plant, run_tests

# The exit code of pytest when tests failed.
_FAILED = 1


@pytest.mark.parametrize("fault", FAULTS, ids=lambda each: f"{each.promise}: {each.name}")
def test_the_tests_of_a_promise_fail_when_its_fault_is_planted(
    fault: Fault, tmp_path: Path
) -> None:
    plant(fault, tmp_path)
    ran = run_tests(fault.tests, tmp_path)
    assert ran.returncode == _FAILED, ran.stdout[-2000:] + ran.stderr[-2000:]
    assert "\nFAILED " in ran.stdout, ran.stdout[-2000:]
