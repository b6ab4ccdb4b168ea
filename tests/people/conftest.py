"""What tests about people begin with."""

import pytest

from dunwell.kit.resources import Resources
from dunwell.people.reception import Reception
from tests.support.people import CountingHasher, a_reception


@pytest.fixture
def hasher() -> CountingHasher:
    return CountingHasher()


@pytest.fixture
def reception(resources: Resources, hasher: CountingHasher) -> Reception:
    return a_reception(resources, hasher)
