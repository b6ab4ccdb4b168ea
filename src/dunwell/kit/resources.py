"""What a process opens once and hands to whoever needs it: settings, database, clock, ids, keys."""

from dataclasses import dataclass

from dunwell.config import Settings
from dunwell.kit.clock import Clock
from dunwell.kit.crypto import KeyRing
from dunwell.kit.db import Database
from dunwell.kit.ids import Ids


@dataclass(frozen=True, slots=True)
class Resources:
    settings: Settings
    database: Database
    clock: Clock
    ids: Ids
    keys: KeyRing
