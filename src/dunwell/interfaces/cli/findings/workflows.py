"""What `dunwell doctor` says of published workflows that leave debtors too little time to pay."""

from collections.abc import Sequence

import asyncpg

from dunwell.cases.rollout.contact_waits import find_contact_warnings
from dunwell.core.workflows.versions.store import CurrentDefinition, iterate_current_definitions
from dunwell.interfaces.cli.findings.finding import Finding
from dunwell.platform.database.database import Database
from dunwell.platform.errors import Unavailable

_SUBJECT = "workflows"
# Who has more of them reads these first; the rest appears once these are corrected.
_MOST_NAMED = 20
_REMEDY = "Publish a version with a longer wait. Claims keep the major version that they run on."


async def check_workflows(url: str) -> list[Finding]:
    """None for a database that is not migrated, or that answers no statement: other findings say
    that."""
    database = await Database.open(url, application="dunwell doctor")
    try:
        async with database.connection() as connection:
            found: list[Finding] = []
            async for page in iterate_current_definitions(connection):
                found += judge_workflows(page)
                if len(found) > _MOST_NAMED:
                    break
    except (Unavailable, asyncpg.PostgresError):
        return []
    finally:
        await database.close()
    if not found:
        return [Finding(_SUBJECT, "each contact is followed by a wait that is long enough to pay")]
    more = [Finding(_SUBJECT, "and there are more", _REMEDY, is_note=True)]
    return found[:_MOST_NAMED] + (more if len(found) > _MOST_NAMED else [])


def judge_workflows(definitions: Sequence[CurrentDefinition]) -> list[Finding]:
    """Return a note for each contact without a sufficient wait."""
    return [
        Finding(_SUBJECT, f'{one.merchant} "{one.name}": {each.message}', _REMEDY, is_note=True)
        for one in definitions
        for each in find_contact_warnings(one.definition)
    ]
