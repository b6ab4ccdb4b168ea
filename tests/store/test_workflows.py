"""Workflows and versions in the database: a workflow has one draft, versions are immutable and are
parsed once."""

from uuid import UUID, uuid4

import asyncpg
import pytest

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import COMMAND_LINE
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.core.workflows.definition import Definition
from dunwell.core.workflows.drafts.edit_draft import create_draft, discard_draft, save_draft
from dunwell.core.workflows.drafts.publish_draft import publish_draft
from dunwell.core.workflows.store import (
    load_current,
    load_draft,
    load_newest,
    load_workflows,
)
from dunwell.core.workflows.versions.versions import Version
from dunwell.platform.database.database import Connection, Database
from dunwell.platform.errors import InvalidState, NotFound
from dunwell.platform.resources import Resources
from tests.support.definitions import a_definition, a_document
from tests.support.merchants import a_merchant

FIRST = a_definition()
MINOR = a_definition(snippets={"signature": {"de": "Gruß", "en": "Regards"}})
MAJOR = a_definition(steps=a_document()["steps"][:2])


async def begin(tx: Connection, resources: Resources, key: str = "nordwind") -> Work:
    merchant = await a_merchant(tx, key, now=resources.clock.now())
    return Work.open(resources, tx, merchant, COMMAND_LINE)


async def publish(work: Work, *definitions: Definition) -> list[Version]:
    """Publish these definitions one after the other as versions of one workflow."""
    versions = []
    for definition in definitions:
        draft = await save_draft(work, "Standard", definition)
        versions.append(await publish_draft(work, draft.workflow_id))
    return versions


async def revision_of(tx: Connection, merchant: Merchant) -> int:
    revision: int = await tx.fetchval(
        "SELECT revision FROM merchants WHERE merchant_id = $1", merchant.merchant_id
    )
    return revision


async def test_versions_are_numbered_by_what_changed(resources: Resources) -> None:
    async with resources.database.transaction() as tx:
        work = await begin(tx, resources)
        versions = await publish(work, FIRST, MINOR, MAJOR)
        assert [version.name for version in versions] == ["v1.0", "v1.1", "v2.0"]
        assert await revision_of(tx, work.merchant) == 4


async def test_a_draft_that_changes_nothing_is_refused(resources: Resources) -> None:
    async with resources.database.transaction() as tx:
        work = await begin(tx, resources)
        [version] = await publish(work, FIRST)
        await create_draft(work, version.workflow_id)
        with pytest.raises(InvalidState) as refusal:
            await publish_draft(work, version.workflow_id)
        assert refusal.value.details == {"state": "DRAFT"}
        assert [w.major for w in await load_workflows(tx, work.merchant_id)] == [1]


async def test_publishing_needs_a_workflow_and_a_draft(resources: Resources) -> None:
    async with resources.database.transaction() as tx:
        work = await begin(tx, resources)
        [version] = await publish(work, FIRST)
        with pytest.raises(NotFound):
            await publish_draft(work, uuid4())
        with pytest.raises(InvalidState):
            await publish_draft(work, version.workflow_id)
        assert await revision_of(tx, work.merchant) == 2


async def test_a_workflow_has_one_draft_and_each_content_its_own_id(resources: Resources) -> None:
    async with resources.database.transaction() as tx:
        work = await begin(tx, resources)
        first = await save_draft(work, "Standard", FIRST)
        second = await save_draft(work, "Standard", MINOR)
        assert second.workflow_id == first.workflow_id
        assert second.version_id != first.version_id
        draft = await load_draft(tx, work.merchant_id, first.workflow_id)
        assert draft is not None
        assert (draft.version_id, draft.definition) == (second.version_id, MINOR)
        assert await tx.fetchval("SELECT COUNT(*) FROM workflow_versions") == 1


async def test_the_only_draft_of_a_workflow_cannot_be_discarded(resources: Resources) -> None:
    async with resources.database.transaction() as tx:
        work = await begin(tx, resources)
        draft = await save_draft(work, "Standard", FIRST)
        with pytest.raises(InvalidState):
            await discard_draft(work, draft.workflow_id)
        await publish_draft(work, draft.workflow_id)
        await save_draft(work, "Standard", MAJOR)
        await discard_draft(work, draft.workflow_id)
        assert await load_draft(tx, work.merchant_id, draft.workflow_id) is None


@pytest.mark.parametrize("change", ["definition = '{}'", "major = 9", "state = 'DRAFT'"])
async def test_the_database_refuses_to_change_a_published_version(
    resources: Resources, change: str
) -> None:
    async with resources.database.transaction() as tx:
        await publish(await begin(tx, resources), FIRST)
    with pytest.raises(asyncpg.RaiseError, match="published and cannot be changed"):
        async with resources.database.transaction() as tx:
            await tx.execute(f"UPDATE workflow_versions SET {change}")
    assert await _definitions(resources.database) == [FIRST]


async def test_the_database_refuses_to_delete_a_published_version_and_its_workflow(
    resources: Resources,
) -> None:
    async with resources.database.transaction() as tx:
        await publish(await begin(tx, resources), FIRST)
    for table in ("workflow_versions", "workflows"):
        with pytest.raises(asyncpg.RaiseError, match="published and cannot be deleted"):
            async with resources.database.transaction() as tx:
                await tx.execute(f"DELETE FROM {table}")
    assert await _definitions(resources.database) == [FIRST]


async def _definitions(database: Database) -> list[Definition]:
    async with database.connection() as connection:
        rows = await connection.fetch("SELECT merchant_id, workflow_id FROM workflows")
        found = [await load_current(connection, *row) for row in rows]
        return [version.definition for version in found if version is not None]


async def test_the_newest_minor_of_each_major_is_loaded(resources: Resources) -> None:
    async with resources.database.transaction() as tx:
        work = await begin(tx, resources)
        first, minor, major = await publish(work, FIRST, MINOR, MAJOR)
        pairs = [(first.workflow_id, 1), (first.workflow_id, 2), (first.workflow_id, 3)]
        pairs += [(UUID(int=1), 1)]
        newest = await load_newest(tx, work.merchant_id, pairs)
        assert newest == {pairs[0]: minor, pairs[1]: major}
        assert await load_current(tx, work.merchant_id, first.workflow_id) == major


async def test_a_version_is_parsed_once_and_a_newer_one_is_noticed(resources: Resources) -> None:
    async with resources.database.transaction() as tx:
        work = await begin(tx, resources)
        [first] = await publish(work, FIRST)
        pair = (first.workflow_id, 1)
        once = await load_newest(tx, work.merchant_id, [pair])
        again = await load_newest(tx, work.merchant_id, [pair])
        assert once[pair] is again[pair]
        [minor] = await publish(work, MINOR)
        assert await load_newest(tx, work.merchant_id, [pair]) == {pair: minor}


async def test_another_merchant_finds_no_workflow(resources: Resources) -> None:
    async with resources.database.transaction() as tx:
        [version] = await publish(await begin(tx, resources), FIRST)
        other = await begin(tx, resources, "hansen")
        assert await load_newest(tx, other.merchant_id, [(version.workflow_id, 1)]) == {}
        assert await load_current(tx, other.merchant_id, version.workflow_id) is None
        assert await load_workflows(tx, other.merchant_id) == []
        with pytest.raises(NotFound):
            await publish_draft(other, version.workflow_id)
