"""A merchant as a file: an export applied elsewhere creates the same merchant, and applied to its
own merchant changes nothing.

Also, what an uploaded file must not do.
"""

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import Actor, Interface, Origin, build_user_actor
from dunwell.accounts.merchants.credentials.store import find_merchant_id_by_key
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.accounts.merchants.rights import ROLE_RIGHTS, Role
from dunwell.accounts.merchants.store import load_merchant
from dunwell.operations.merchant_file.apply_file import (
    apply_file,
    apply_given_file,
    export_merchant_file,
    parse_given_file,
    plan_given_file,
)
from dunwell.operations.merchant_file.changes import ApplyReport
from dunwell.operations.merchant_file.check_file import InstallationLimits
from dunwell.operations.merchant_file.logo import LogoMaker
from dunwell.operations.merchant_file.open_merchant import open_merchant
from dunwell.platform.errors import InvalidState, ValidationError
from dunwell.platform.resources import Resources
from dunwell.platform.text.yaml_document import parse_yaml, render_yaml
from tests.support.children import DOCUMENTS, INSPECTOR, PRINTER
from tests.support.definitions import a_document
from tests.usecases.test_apply import ADAPTERS, FILE, PROVIDERS

LOGOS = LogoMaker(INSPECTOR, PRINTER)
LIMITS = InstallationLimits(ADAPTERS, is_development=True, available_providers=PROVIDERS)
KIM = build_user_actor("kim", ROLE_RIGHTS[Role.OPERATOR], Origin(Interface.PORTAL))


@dataclass
class UploadingMerchant:
    """One merchant to which files are uploaded."""

    resources: Resources
    key: str
    actor: Actor = KIM

    async def merchant(self) -> Merchant:
        async with self.resources.database.connection() as connection:
            merchant_id = await find_merchant_id_by_key(connection, self.key)
            assert merchant_id is not None
            merchant = await load_merchant(connection, merchant_id)
        assert merchant is not None
        return merchant

    async def export(self) -> str:
        async with self.resources.database.transaction() as tx:
            work = Work.open(self.resources, tx, await self.merchant(), self.actor)
            return render_yaml(await export_merchant_file(work, self.resources))

    async def plan(self, text: str, *, publish: bool = False) -> ApplyReport:
        merchant = await self.merchant()
        source = await parse_given_file(text, merchant, DOCUMENTS, logos=LOGOS, key="somebody")
        async with self.resources.database.transaction() as tx:
            work = Work.open(self.resources, tx, merchant, self.actor)
            return await plan_given_file(work, self.resources, source, LIMITS, publish=publish)

    async def apply(
        self, text: str, *, publish: bool = False, known: int | None = None
    ) -> ApplyReport:
        merchant = await self.merchant()
        source = await parse_given_file(text, merchant, DOCUMENTS, logos=LOGOS, key="somebody")
        async with self.resources.database.transaction() as tx:
            work = Work.open(self.resources, tx, merchant, self.actor)
            return await apply_given_file(
                work, self.resources, source, LIMITS,
                publish=publish, known_revision=merchant.revision if known is None else known,
            )  # fmt: skip


async def an_uploading_merchant(
    resources: Resources, folder: Path, document: dict[str, Any]
) -> UploadingMerchant:
    path = folder / f"{document['key']}.yaml"
    path.write_text(render_yaml(document))
    await apply_file(resources, path, available_adapters=ADAPTERS, available_providers=PROVIDERS)
    return UploadingMerchant(resources, document["key"])


async def a_new_uploading_merchant(
    resources: Resources, *, sandbox: bool = False
) -> UploadingMerchant:
    document = {
        "key": "elsewhere", "name": "Elsewhere", "language": "en", "timezone": "Europe/Dublin",
        "sandbox": sandbox,
    }  # fmt: skip
    async with resources.database.transaction() as tx:
        await open_merchant(resources, tx, KIM, document=document, limits=LIMITS)
    return UploadingMerchant(resources, "elsewhere")


def a_picture(kind: str) -> bytes:
    buffer = io.BytesIO()
    image = Image.effect_noise((40, 30), 90).convert("RGB")
    image.save(buffer, kind, quality=70)
    return buffer.getvalue()


EVERYTHING: dict[str, Any] = {
    **FILE,
    "brand": {"logo": "logo.svg", "color": "#1F6F5C"},
    "landingPage": {
        "languages": ["en", "de"], "features": ["DOCUMENTS"], "advice": {"de": "Rat: 0800"},
        "verification": {"EMAIL": ["POSTAL_CODE", "CODE"], "SMS": "NONE"},
    },
    "payment": {
        **FILE["payment"], "methods": [{"provider": "bank"}], "allocation": "PRIMARY_FIRST",
        "partial": {"min": "500", "items": True},
    },
    "channels": {
        **FILE["channels"], "SMS": {"adapter": "outbox", "from": "Nordwind"},
        "LETTER": {"adapter": "outbox"},
    },
    "guards": {"maxContactsPerDay": 2, "quietHours": {"from": "21:00", "to": "08:00"}},
    "modalities": {
        "plan": {"counts": [3, 6], "minRate": "1000"}, "deferment": {"maxDays": 20},
        "pauseDays": 7, "answerWithinDays": 4,
    },
    "disputes": {
        "reasons": [{"type": "WRONG_SIZE", "label": {"de": "Größe", "fr": "Taille"}}],
        "answerWithinDays": 5,
    },
    "forbiddenWords": {"de": ["Zwangsvollstreckung"]},
    "credentials": [{"name": "erp", "requestsPerMinute": 90, "scope": ["READ", "MONEY"]}],
    "workflows": [
        {"name": "Standard", "definition": a_document()},
        {"name": "Other", "definition": a_document()},
    ],
    "assignmentRules": {
        "default": "Standard",
        "rules": [
            {"name": "r", "active": False, "when": {"country": "DE"}, "target": "Other"}
        ],
    },
}  # fmt: skip


@pytest.mark.parametrize("kind", ["SVG", "PNG", "JPEG", "WEBP"])
async def test_an_export_creates_the_same_merchant_elsewhere_and_changes_nothing_at_its_own(
    resources: Resources, tmp_path: Path, kind: str
) -> None:
    svg = b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><path d="M0 0h9"/></svg>'
    (tmp_path / "logo.svg").write_bytes(svg if kind == "SVG" else a_picture(kind))
    home = await an_uploading_merchant(resources, tmp_path, EVERYTHING)
    exported = await home.export()

    assert (await home.plan(exported)).changes == []
    elsewhere = await a_new_uploading_merchant(resources)
    made = await elsewhere.apply(exported)
    assert len(made.changes) > 20
    assert [each.name for each in made.credentials] == ["erp"]
    assert (await elsewhere.plan(exported)).changes == []
    expected, again = parse_yaml(exported), parse_yaml(await elsewhere.export())
    assert {**expected, "key": "", "brand": 0} == {**again, "key": "", "brand": 0}
    assert again["brand"]["color"] == "#1f6f5c"


async def test_the_command_line_accepts_an_export(resources: Resources, tmp_path: Path) -> None:
    (tmp_path / "logo.svg").write_bytes(a_picture("PNG"))
    home = await an_uploading_merchant(resources, tmp_path, EVERYTHING)
    document = {**parse_yaml(await home.export()), "key": "third"}

    third = await an_uploading_merchant(resources, tmp_path, document)

    (tmp_path / "third.yaml").write_text(render_yaml(document))
    options = {"available_adapters": ADAPTERS, "available_providers": PROVIDERS}
    report = await apply_file(resources, tmp_path / "third.yaml", **options)  # type: ignore[arg-type]
    assert report.changes == []
    assert (await third.merchant()).configuration.brand.logo is not None


async def test_an_export_contains_no_secret_and_applying_it_removes_none(
    resources: Resources, tmp_path: Path
) -> None:
    home = await an_uploading_merchant(resources, tmp_path, FILE)
    exported = await home.export()

    assert "Bearer" not in exported
    assert "secret" not in exported.lower()
    changed = (
        exported.replace("events:\n  - '*'", "events: [ARCHIVED]")
        .replace('events: ["*"]', "events: [ARCHIVED]")
        .replace("events: ['*']", "events: [ARCHIVED]")
    )
    report = await home.apply(changed)
    assert [line for line in report.changes if "authorization" in line] == []
    [line] = report.changes
    assert line.startswith("webhook https://erp.example/hooks events changed")


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ({"brand": {"logo": "../../etc/passwd"}}, "/brand/logo"),
        ({"brand": {"logo": "/proc/self/environ"}}, "/brand/logo"),
        ({"workflows": [{"name": "x", "file": "/etc/passwd"}]}, "/workflows/0/file"),
    ],
)
async def test_an_uploaded_file_cannot_read_server_files(
    resources: Resources, tmp_path: Path, given: dict[str, Any], place: str
) -> None:
    home = await an_uploading_merchant(resources, tmp_path, FILE)
    document = {key: FILE[key] for key in ("key", "name", "language", "timezone")}
    with pytest.raises(ValidationError) as refusal:
        await home.plan(render_yaml({**document, **given}))
    assert (place, "NOT_HERE") in {(each.path, each.code) for each in refusal.value.faults}


async def test_an_uploaded_file_changes_only_its_own_merchant(
    resources: Resources, tmp_path: Path
) -> None:
    home = await an_uploading_merchant(resources, tmp_path, FILE)
    elsewhere = await a_new_uploading_merchant(resources, sandbox=True)
    before = await home.merchant()
    document = {**FILE, "name": "Taken", "sandbox": False, "workflows": []}
    del document["assignmentRules"]

    await elsewhere.apply(render_yaml(document))

    assert await home.merchant() == before
    assert (await elsewhere.merchant()).name == "Taken"
    assert (await elsewhere.merchant()).is_sandbox


async def test_the_second_of_two_concurrent_uploads_is_refused(
    resources: Resources, tmp_path: Path
) -> None:
    home = await an_uploading_merchant(resources, tmp_path, FILE)
    known = (await home.merchant()).revision
    text = await home.export()
    await home.apply(text.replace("Nordwind\n", "First\n", 1), known=known)
    with pytest.raises(InvalidState):
        await home.apply(text.replace("Nordwind\n", "Second\n", 1), known=known)
    assert (await home.merchant()).name == "First"


async def test_an_uploaded_file_discards_no_draft(resources: Resources, tmp_path: Path) -> None:
    home = await an_uploading_merchant(resources, tmp_path, FILE)
    text = await home.export()
    document = parse_yaml(text)
    document["workflows"][0]["definition"]["steps"][0]["name"] = "Renamed"
    document["assignmentRules"] = {"default": None, "rules": []}
    [drafted, *_] = (await home.apply(render_yaml(document))).changes
    assert "saved as draft" in drafted

    assert (await home.apply(text)).changes == []

    async with resources.database.connection() as connection:
        count = await connection.fetchval(
            "SELECT count(*) FROM workflow_versions WHERE merchant_id = $1"
            " AND published_at IS NULL",
            (await home.merchant()).merchant_id,
        )
    assert count == 1
