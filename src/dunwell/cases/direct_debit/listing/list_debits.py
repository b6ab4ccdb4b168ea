"""List mandates, collections and files for the bank, newest first: all of a merchant's, or those of
one claim or mandate."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.direct_debit.debit_values import (
    Collection,
    CollectionState,
    Mandate,
)
from dunwell.cases.direct_debit.files.release_debits import find_obstacles
from dunwell.cases.direct_debit.files.store import (
    DebitFile,
    DebitFileState,
    list_file_collections,
)
from dunwell.cases.direct_debit.listing.store import (
    ListedCollection,
    ListedMandate,
    count_releasable,
    list_collecting_accounts,
    load_listed_collections,
    load_listed_files,
    load_listed_mandates,
)
from dunwell.cases.direct_debit.store import (
    list_claim_mandates,
    list_mandate_collections,
    list_releasable,
)
from dunwell.core.claims.access import check_claim_exists
from dunwell.platform.database.database import snapshot
from dunwell.platform.database.listed_table import Count, ListedTable, ListPage
from dunwell.platform.database.lists import MAX_COUNTED, list_page
from dunwell.platform.errors import NotFound

# A file that staff has to download, or whose delivery failed.
_NEEDS_DELIVERY = "(l.state = 'RELEASED' AND (l.deliver_to IS NULL OR l.problem IS NOT NULL))"

_MAX_ACCOUNT_MANDATES = 1_000
_BY_COLLECTOR = {"account": "l.provider = {}", "by_bank": "(l.provider IS NULL) = {}"}


@dataclass(frozen=True, slots=True)
class MandateFilter:
    """All given conditions must match. `account` is the provider's account that collects, and
    `by_bank` selects those that the bank collects. `since` (inclusive) and `until` (exclusive)
    apply to the time of the signature."""

    state: str | None = None
    account: str | None = None
    by_bank: bool | None = None
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class CollectionFilter:
    """All given conditions must match. `account` is the provider's account that collects, and
    `by_bank` selects those that the bank collects. The days, both inclusive, are those on which the
    account is debited."""

    state: CollectionState | None = None
    account: str | None = None
    by_bank: bool | None = None
    collected_from: date | None = None
    collected_to: date | None = None


@dataclass(frozen=True, slots=True)
class DebitFileFilter:
    """All given conditions must match. `needs_delivery` selects files that staff has to download,
    or whose delivery failed."""

    state: DebitFileState | None = None
    needs_delivery: bool | None = None


MANDATES: ListedTable[MandateFilter, UUID, ListedMandate] = ListedTable(
    name="mandates",
    table="mandates",
    key="mandate_id",
    key_type="uuid",
    index="mandates_list",
    at="signed_at",
    filter=MandateFilter,
    filters={"state": "l.state = {}", **_BY_COLLECTOR},
    load=load_listed_mandates,
)
COLLECTIONS: ListedTable[CollectionFilter, UUID, ListedCollection] = ListedTable(
    name="collections",
    table="debit_collections",
    key="collection_id",
    key_type="uuid",
    index="debit_collections_list",
    filter=CollectionFilter,
    filters={
        "state": "l.state = {}",
        **_BY_COLLECTOR,
        "collected_from": "l.collected_on >= {}",
        "collected_to": "l.collected_on <= {}",
    },
    load=load_listed_collections,
)
DEBIT_FILES: ListedTable[DebitFileFilter, UUID, DebitFile] = ListedTable(
    name="debit files",
    table="debit_files",
    key="file_id",
    key_type="uuid",
    index="debit_files_list",
    at="created_at",
    filter=DebitFileFilter,
    filters={"state": "l.state = {}", "needs_delivery": f"{_NEEDS_DELIVERY} = {{}}"},
    load=load_listed_files,
)
_MANDATES_OF_CLAIM = MANDATES.within("claim_id", name="claim mandates", index="mandates_claim")
_COLLECTIONS_OF_MANDATE = COLLECTIONS.within(
    "mandate_id", name="mandate collections", index="debit_collections_mandate"
)
ALL_MANDATES, ALL_COLLECTIONS, ALL_FILES = MandateFilter(), CollectionFilter(), DebitFileFilter()


@dataclass(frozen=True, slots=True)
class ReleasableDebit:
    """A collection that waits for its release. `obstacle` is the reason why it cannot be released,
    None if it can."""

    listed: ListedCollection
    obstacle: str | None


@dataclass(frozen=True, slots=True)
class PlanDebits:
    """The mandates of a payment plan, newest first, and the debit of each instalment that has one.
    If there were several, it is the newest."""

    mandates: Sequence[Mandate]
    by_instalment: Mapping[int, Collection]


@dataclass(frozen=True, slots=True)
class DebitFileDetails:
    """A file and its collections. Only those of a proposal have an obstacle, if they cannot be
    released."""

    file: DebitFile
    debits: Sequence[ReleasableDebit]


async def list_all_mandates(
    work: Work, *, limit: int, cursor: str | None = None, wanted: MandateFilter = ALL_MANDATES,
    oldest_first: bool = False,
) -> ListPage[ListedMandate]:  # fmt: skip
    """List the merchant's mandates. Raises ValidationError for an invalid cursor."""
    work.require(Right.READ_CLAIMS)
    return await list_page(
        work.scope(), MANDATES, wanted, limit=limit, cursor=cursor, oldest_first=oldest_first
    )


async def list_mandates_of_claim(
    work: Work, claim_id: int, *, limit: int, cursor: str | None = None
) -> ListPage[ListedMandate]:
    """List the mandates of a claim. Raises NotFound, and ValidationError for an invalid cursor."""
    work.require(Right.READ_CLAIMS)
    async with snapshot(work.tx):
        await check_claim_exists(work, claim_id)
        scope = work.scope(claim_id)
        return await list_page(scope, _MANDATES_OF_CLAIM, ALL_MANDATES, limit=limit, cursor=cursor)


async def get_mandate(work: Work, claim_id: int, mandate_id: UUID) -> ListedMandate:
    """Return a mandate of a claim. Raises NotFound. If both are missing, the message names the
    claim."""
    work.require(Right.READ_CLAIMS)
    async with snapshot(work.tx):
        await check_claim_exists(work, claim_id)
        listed = (await load_listed_mandates(work.tx, work.merchant_id, [mandate_id])).get(
            mandate_id
        )
    if listed is None or listed.mandate.claim_id != claim_id:
        raise NotFound(f"There is no mandate {mandate_id}.")
    return listed


async def list_collections(
    work: Work, *, limit: int, cursor: str | None = None,
    wanted: CollectionFilter = ALL_COLLECTIONS, oldest_first: bool = False,
) -> ListPage[ListedCollection]:  # fmt: skip
    """List the merchant's collections. Raises ValidationError for an invalid cursor."""
    work.require(Right.READ_CLAIMS)
    return await list_page(
        work.scope(), COLLECTIONS, wanted, limit=limit, cursor=cursor, oldest_first=oldest_first
    )


async def list_collections_of_mandate(
    work: Work, claim_id: int, mandate_id: UUID, *, limit: int, cursor: str | None = None
) -> ListPage[ListedCollection]:
    """List the collections of a mandate. Raises NotFound, and ValidationError for an invalid
    cursor."""
    work.require(Right.READ_CLAIMS)
    async with snapshot(work.tx):
        await get_mandate(work, claim_id, mandate_id)
        scope = work.scope(mandate_id)
        return await list_page(
            scope, _COLLECTIONS_OF_MANDATE, ALL_COLLECTIONS, limit=limit, cursor=cursor
        )


async def list_debit_accounts(work: Work) -> list[str]:
    """Return the accounts at providers at which debtors can give mandates, or have lately been
    asked for them."""
    work.require(Right.READ_CLAIMS)
    name = work.merchant.configuration.payment.direct_debit_provider
    accounts = await list_collecting_accounts(work.tx, work.merchant_id, _MAX_ACCOUNT_MANDATES)
    return sorted({*accounts, *([name] if name is not None else [])})


async def get_collection(work: Work, collection_id: UUID) -> ListedCollection:
    """Return a collection. Raises NotFound."""
    work.require(Right.READ_CLAIMS)
    listed = (await load_listed_collections(work.tx, work.merchant_id, [collection_id])).get(
        collection_id
    )
    if listed is None:
        raise NotFound(f"There is no debit {collection_id}.")
    return listed


async def get_plan_debits(work: Work, claim_id: int, modality_id: UUID) -> PlanDebits:
    """Return the mandates and debits of a plan. Both are empty if the claim has no such plan."""
    work.require(Right.READ_CLAIMS)
    async with snapshot(work.tx):
        all_of_claim = await list_claim_mandates(work.tx, work.merchant_id, claim_id)
        mandates = [each for each in all_of_claim if each.modality_id == modality_id]
        collections = await list_mandate_collections(
            work.tx, work.merchant_id, [each.mandate_id for each in mandates]
        )
    # The newest collection of an instalment comes last, so it replaces the others.
    return PlanDebits(mandates, {each.instalment: each for each in collections})


async def list_debits_to_release(work: Work, *, limit: int) -> list[ReleasableDebit]:
    """Return the collections that wait for their release, ordered by the day of the debit."""
    work.require(Right.READ_CLAIMS)
    async with snapshot(work.tx):
        collections = await list_releasable(work.tx, work.merchant_id, limit)
        obstacles = await find_obstacles(work, collections)
        ids = [each.collection_id for each in collections]
        listed = await load_listed_collections(work.tx, work.merchant_id, ids)
    return [ReleasableDebit(listed[each], obstacles.get(each)) for each in ids]


async def count_debits_to_release(work: Work) -> tuple[Count, datetime | None]:
    """Count the collections that wait for their release. Also return when the debtor of the first
    was notified, or None if there are none."""
    work.require(Right.READ_CLAIMS)
    number, oldest_at = await count_releasable(work.tx, work.merchant_id, MAX_COUNTED + 1)
    return Count(min(number, MAX_COUNTED), is_more=number > MAX_COUNTED), oldest_at


async def list_debit_files(
    work: Work, *, limit: int, cursor: str | None = None, wanted: DebitFileFilter = ALL_FILES,
    oldest_first: bool = False,
) -> ListPage[DebitFile]:  # fmt: skip
    """List the files for the bank. Raises ValidationError for an invalid cursor."""
    work.require(Right.READ_CLAIMS)
    return await list_page(
        work.scope(), DEBIT_FILES, wanted, limit=limit, cursor=cursor, oldest_first=oldest_first
    )


async def get_debit_file(work: Work, file_id: UUID) -> DebitFileDetails:
    """Return a file with its collections, by the day of the debit. Raises NotFound."""
    work.require(Right.READ_CLAIMS)
    async with snapshot(work.tx):
        file = (await load_listed_files(work.tx, work.merchant_id, [file_id])).get(file_id)
        if file is None:
            raise NotFound(f"There is no debit file {file_id}.")
        collections = await list_file_collections(work.tx, work.merchant_id, file_id)
        obstacles = (
            await find_obstacles(work, collections, file_id)
            if file.state is DebitFileState.PROPOSED
            else {}
        )
        ids = [each.collection_id for each in collections]
        listed = await load_listed_collections(work.tx, work.merchant_id, ids)
    debits = [ReleasableDebit(listed[each], obstacles.get(each)) for each in ids]
    return DebitFileDetails(file, debits)
