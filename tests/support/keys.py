"""An installation's processes while its secret key is rotated, each with its own versions."""

import dataclasses

from dunwell.platform.crypto import KeyRing
from dunwell.platform.key_versions import admit_at
from dunwell.platform.resources import Resources
from tests.support.house import House

SECOND, THIRD = b"the second version of this key..", b"the third version of this key..."


def with_versions(resources: Resources, *versions: int) -> Resources:
    """Of a process that has these; the first is in use."""
    keys = {1: resources.settings.secret_key[1], 2: SECOND, 3: THIRD}
    ring = KeyRing({version: keys[version] for version in versions})
    return dataclasses.replace(resources, keys=ring)


def house_with_versions(house: House, *versions: int) -> House:
    """The same house, served by such a process."""
    return dataclasses.replace(house, resources=with_versions(house.resources, *versions))


async def admit(resources: Resources) -> None:
    """What the first connection of a process does. Raises KeyRefused."""
    assert resources.settings.database_url is not None
    await admit_at(resources.settings.database_url, resources.keys)
