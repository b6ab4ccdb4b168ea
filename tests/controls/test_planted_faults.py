"""A promise counts when its test can fail: with each of these faults planted, it does."""

from pathlib import Path

import pytest

from tests.controls.planted import FAULTS, Fault, plant, run_tests

# Of pytest: tests ran, and some failed.
_FAILED = 1


@pytest.mark.parametrize("fault", FAULTS, ids=lambda each: f"{each.promise}: {each.name}")
def test_the_tests_of_a_promise_fail_when_its_fault_is_planted(
    fault: Fault, tmp_path: Path
) -> None:
    plant(fault, tmp_path)
    ran = run_tests(fault.tests, tmp_path)
    assert ran.returncode == _FAILED, ran.stdout[-2000:] + ran.stderr[-2000:]
    assert "\nFAILED " in ran.stdout, ran.stdout[-2000:]
