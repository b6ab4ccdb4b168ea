"""A merchant as a file: downloaded, given, what it would change, and making it so."""

from collections.abc import Sequence

from starlette.responses import Response

from dunwell.errors import Fault, InvalidState, ValidationError
from dunwell.kit.yaml_document import render_yaml
from dunwell.merchants.store import load_merchant
from dunwell.onboarding.apply_given import apply_given, export_file, plan_given
from dunwell.onboarding.given_file import read_given
from dunwell.portal.setup.desks import find_surroundings, need_configure
from dunwell.portal.setup.views import ChangesPage, FilePage
from dunwell.portal.web.answer import answer_file
from dunwell.portal.web.desk import Desk
from dunwell.portal.web.guards import RoutedPages, at_merchant
from dunwell.portal.web.site import Site
from dunwell.portal.web.uploads import Upload, takes_upload_at_merchant
from dunwell.portal.web.visit import Visit


@at_merchant
async def show_file(site: Site, visit: Visit, desk: Desk) -> Response:
    return await _answer_file(site, visit, desk)


@at_merchant
async def send_file(site: Site, _visit: Visit, desk: Desk) -> Response:
    need_configure(desk)
    text = await _export(site, desk)
    return answer_file(text.encode(), "application/yaml", f"{desk.merchant.key}.yaml")


@at_merchant
async def go_to_file(site: Site, visit: Visit, desk: Desk) -> Response:
    """From the address of what would change, reloaded or in another language."""
    need_configure(desk)
    return site.redirect(visit, desk, "settings_file")


@takes_upload_at_merchant
async def take_file(site: Site, visit: Visit, desk: Desk, upload: Upload) -> Response:
    """do: "apply" makes it so, when nothing was changed since it was shown."""
    need_configure(desk)
    fields, publish = upload.fields, bool(upload.fields["publish"])
    text = upload.files.get("file", fields["text"].encode()).decode("utf-8", "replace")
    text = text.replace("\r\n", "\n")
    too_large = [Fault("", "It is larger than 1 MB.", "TOO_LARGE")]
    if "file" in upload.too_large or not text.strip():
        faults = too_large if upload.too_large else [Fault("", "No file was given.", "NO_FILE")]
        return await _answer_file(site, visit, desk, text=text, faults=faults)
    try:
        if fields["do"] == "apply":
            return await _apply(
                site, visit, desk, text=text, publish=publish, known=fields["known_revision"]
            )
        return await _plan(site, visit, desk, text=text, publish=publish)
    except ValidationError as refusal:
        return await _answer_file(site, visit, desk, text=text, faults=refusal.faults)
    except InvalidState:
        return await _plan(site, visit, desk, text=text, publish=publish, is_overtaken=True)


async def _plan(
    site: Site, visit: Visit, desk: Desk, *, text: str, publish: bool, is_overtaken: bool = False
) -> Response:
    source, surroundings = await read_given(text, desk.merchant), find_surroundings(site)
    async with site.work(desk) as work:
        # Before the plan: what is changed beside it makes the plan an old one.
        merchant = await load_merchant(work.tx, work.merchant_id)
        report = await plan_given(work, site.resources, source, surroundings, publish=publish)
    revision = merchant.revision if merchant else 0
    page = ChangesPage(report, text, publish, revision, is_overtaken=is_overtaken)
    return site.answer_at(visit, desk, page, 409 if is_overtaken else 200)


async def _apply(
    site: Site, visit: Visit, desk: Desk, *, text: str, publish: bool, known: str
) -> Response:
    """The secrets of what is new stand in this answer alone."""
    source = await read_given(text, desk.merchant)
    revision = int(known) if known.isascii() and known.isdecimal() and len(known) < 10 else -1
    async with site.work(desk) as work:
        report = await apply_given(
            work, site.resources, source, find_surroundings(site),
            publish=publish, known_revision=revision,
        )  # fmt: skip
    page = ChangesPage(report, "", publish, 0, is_applied=True)
    return site.answer_at(visit, desk, page)


async def _answer_file(
    site: Site, visit: Visit, desk: Desk, *, text: str = "", faults: Sequence[Fault] = ()
) -> Response:
    need_configure(desk)
    page = FilePage(await _export(site, desk), faults, text if faults else "")
    return site.answer_at(visit, desk, page, 422 if faults else 200)


async def _export(site: Site, desk: Desk) -> str:
    async with site.work(desk) as work:
        return render_yaml(await export_file(work, site.resources))


PAGES: RoutedPages = {
    "settings_file": {"GET": show_file},
    "settings_yaml": {"GET": send_file},
    "settings_changes": {"GET": go_to_file, "POST": take_file},
}
