"""Load the logo that a merchant file names, check it, and convert it.

The elements and attributes of an SVG are checked against an allow-list. Other images are decoded
and encoded again in the child processes that inspect uploads. The picture for mail programs is
drawn in the child processes that print letters.
"""

from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from dunwell.accounts.merchants.configuration import Logo
from dunwell.contact.messages.letters.printer import LetterPrinter, Unprintable
from dunwell.contact.messages.letters.sheet import Picture
from dunwell.core.files.inspection import Inspector
from dunwell.core.files.upload import PDF
from dunwell.operations.merchant_file.logo_image import (
    DATA_PREFIX,
    SVG_TYPE,
    ImageRefused,
    clean_svg,
    looks_like_svg,
    parse_data_address,
)
from dunwell.operations.merchant_file.read_file import MerchantFileSource
from dunwell.platform.errors import Fault, Unavailable, UnsupportedMediaType

_MAX_BYTES = 50 * 1024
_TOO_LARGE = "It is larger than 50 KB; make it smaller."
LOGO_POINTER = "/brand/logo"


@dataclass(frozen=True, slots=True)
class LogoMaker:
    """Makes logos from images, in the shared child processes, on behalf of one caller."""

    inspector: Inspector
    printer: LetterPrinter
    # The child processes run only one task of a caller at a time.
    caller: Hashable = ""

    async def make_logo(self, content: bytes) -> Logo:
        """Return the checked and rewritten image with its picture for mail programs. Raises
        ImageRefused, RateLimited, Unavailable."""
        if len(content) > _MAX_BYTES:
            raise ImageRefused(_TOO_LARGE)
        return await self._draw_for_mail(await self._check(content))

    async def _check(self, content: bytes) -> Logo:
        if looks_like_svg(content):
            return Logo(SVG_TYPE, clean_svg(content))
        try:
            written = await self.inspector.clean(content, self.caller)
        except UnsupportedMediaType as refusal:
            raise ImageRefused(f"{refusal.message} Use SVG, PNG, JPEG or WebP.") from refusal
        if written.content_type == PDF:
            raise ImageRefused("The logo is a PDF; use SVG, PNG, JPEG or WebP.")
        return Logo(written.content_type, written.content)

    async def _draw_for_mail(self, logo: Logo) -> Logo:
        """Add the picture for mail programs, which do not support SVG."""
        printer = self.printer.for_caller(self.caller)
        try:
            png = await printer.draw_logo(Picture(logo.content_type, logo.content))
        except Unprintable as refusal:
            raise ImageRefused("The image cannot be rendered; save it as PNG.") from refusal
        except OSError as error:
            raise Unavailable(
                "Logos cannot be rendered at the moment. Try again shortly."
            ) from error
        return msgspec.structs.replace(logo, png=png)


@asynccontextmanager
async def open_logo_maker() -> AsyncIterator[LogoMaker]:
    """Open a maker with its own child processes, for a command that has none."""
    inspector, printer = Inspector(size=1), LetterPrinter(1)
    try:
        yield LogoMaker(inspector, printer)
    finally:
        await inspector.close()
        await printer.close()


async def add_logo(source: MerchantFileSource, path: Path) -> MerchantFileSource:
    """Return the source of the merchant file at `path` with its logo, or with a fault if it is
    refused."""
    name = find_logo(source.document)
    if name is None:
        return source
    try:
        content = (
            parse_data_address(name)
            if name.startswith(DATA_PREFIX)
            else _read_image(path.parent / name)
        )
        async with open_logo_maker() as maker:
            return replace(source, logo=await maker.make_logo(content))
    except ImageRefused as refusal:
        subject = "The image" if name.startswith(DATA_PREFIX) else name
        fault = Fault(LOGO_POINTER, f"{subject} is rejected. {refusal}", "WRONG_IMAGE")
    except OSError as error:
        fault = Fault(LOGO_POINTER, f"{name} cannot be read: {error.strerror}.", "UNREADABLE")
    return replace(source, faults=[*source.faults, fault])


def find_logo(document: Any) -> str | None:
    """Return the logo that the file names, or None."""
    brand = document.get("brand") if isinstance(document, dict) else None
    name = brand.get("logo") if isinstance(brand, dict) else None
    # The check of the structure reports a name of another type.
    return name if isinstance(name, str) and name and "\0" not in name else None


def _read_image(path: Path) -> bytes:
    if path.stat().st_size > _MAX_BYTES:
        raise ImageRefused(_TOO_LARGE)
    return path.read_bytes()
