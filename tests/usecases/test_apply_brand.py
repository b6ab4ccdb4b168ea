"""Brand, landing page and payment methods in a merchant file: stored, reported, and checked for
safety."""

import io
from pathlib import Path
from typing import Any

import msgspec
import pytest
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from dunwell.accounts.merchants.configuration import Brand, LandingPage, Logo, PaymentMethod
from dunwell.operations.merchant_file import logo
from dunwell.platform.errors import ValidationError
from dunwell.platform.resources import Resources
from tests.support.children import lend_logo_maker
from tests.usecases.test_apply import Applying

SVG = b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><path d="M0 0h9" /></svg>'


@pytest.fixture
def applying(resources: Resources, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Applying:
    monkeypatch.setattr(logo, "open_logo_maker", lend_logo_maker)
    applying = Applying(resources, tmp_path)
    (tmp_path / "logo.svg").write_bytes(SVG)
    applying.document |= {
        "brand": {"logo": "logo.svg", "color": "#AB12CD"},
        "landingPage": {"languages": ["en"]},
    }
    applying.document["payment"]["methods"] = [{"provider": "sandbox"}]
    return applying


def png(**options: Any) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (8, 8)).save(buffer, "PNG", **options)
    return buffer.getvalue()


def without_png(brand: Brand) -> Brand:
    assert brand.logo is not None
    return msgspec.structs.replace(brand, logo=msgspec.structs.replace(brand.logo, png=None))


async def refuse(applying: Applying) -> list[tuple[str, str, str]]:
    before = await applying.rows()
    with pytest.raises(ValidationError) as refusal:
        await applying.apply()
    assert await applying.rows() == before
    return [(fault.path, fault.code, fault.message) for fault in refusal.value.faults]


async def test_brand_page_and_methods_are_stored(applying: Applying) -> None:
    await applying.apply()
    configuration = (await applying.merchant()).configuration
    assert without_png(configuration.brand) == Brand(Logo("image/svg+xml", SVG), "#ab12cd")
    assert configuration.landing_page == LandingPage(("en",))
    assert configuration.payment.methods == (PaymentMethod("sandbox"),)
    assert configuration.payment.bank_account is not None
    assert (await applying.apply()).changes == []


async def test_the_advice_text_is_stored_by_language_and_replaced_as_a_whole(
    applying: Applying,
) -> None:
    await applying.apply()
    applying.document["landingPage"] = {"advice": {"en": "Call 0800 1.", "de": "Rufen Sie an."}}
    changes = (await applying.apply()).changes
    page = (await applying.merchant()).configuration.landing_page
    assert page == LandingPage(("en",), advice={"en": "Call 0800 1.", "de": "Rufen Sie an."})
    assert sorted(change.split()[0] for change in changes) == [
        "landingPage.advice.de",
        "landingPage.advice.en",
    ]
    assert (await applying.apply()).changes == []
    applying.document["landingPage"] = {"languages": ["en"]}
    assert (await applying.apply()).changes == []
    applying.document["landingPage"] = {"advice": {}}
    await applying.apply()
    assert (await applying.merchant()).configuration.landing_page == LandingPage(("en",))


async def test_a_changed_logo_is_reported_by_its_digest(applying: Applying) -> None:
    await applying.apply()
    other = SVG.replace(b"9 9", b"8 8")
    (applying.path.parent / "logo.svg").write_bytes(other)
    [change] = (await applying.apply()).changes
    assert change.startswith('brand.logo changed: "image/svg+xml, 83 bytes, ')
    brand = (await applying.merchant()).configuration.brand
    assert without_png(brand) == Brand(Logo("image/svg+xml", other), "#ab12cd")


async def test_a_logo_is_converted_for_mail_programs_once(
    applying: Applying, resources: Resources
) -> None:
    await applying.apply()
    logo = (await applying.merchant()).configuration.brand.logo
    assert logo is not None
    assert logo.png is not None
    with Image.open(io.BytesIO(logo.png)) as drawn:
        assert (drawn.format, drawn.size) == ("PNG", (80, 80))
    # The state that an earlier version left.
    async with resources.database.connection() as connection:
        await connection.execute(
            "UPDATE merchants SET configuration = configuration #- '{brand,logo,png}', "
            "revision = revision + 1"
        )
    [change] = (await applying.apply()).changes
    assert change.startswith('brand.logo changed: "image/svg+xml, ')
    assert ', not in e-mails yet" -> "' in change
    assert (await applying.merchant()).configuration.brand.logo == logo
    assert (await applying.apply()).changes == []


async def test_a_wide_logo_is_at_most_560_pixels_wide(applying: Applying) -> None:
    wide = SVG.replace(b"0 0 9 9", b"0 0 900 9")
    (applying.path.parent / "logo.svg").write_bytes(wide)
    await applying.apply()
    logo = (await applying.merchant()).configuration.brand.logo
    assert logo is not None
    with Image.open(io.BytesIO(logo.png or b"")) as drawn:
        assert drawn.size == (560, 80)


async def test_absent_keys_change_nothing_and_a_brand_is_replaced_as_a_whole(
    applying: Applying,
) -> None:
    await applying.apply()
    del applying.document["landingPage"], applying.document["payment"]["methods"]
    applying.document["brand"] = {"color": "#AB12CD"}
    [change] = (await applying.apply()).changes
    assert change == "brand.logo removed"
    configuration = (await applying.merchant()).configuration
    assert configuration.landing_page.languages == ("en",)
    assert configuration.payment.methods == (PaymentMethod("sandbox"),)


async def test_an_image_is_checked_and_encoded_again(applying: Applying) -> None:
    noted = PngInfo()
    noted.add_text("Author", "somebody's name")
    (applying.path.parent / "logo.svg").write_bytes(png(pnginfo=noted) + b"what follows the end")
    await applying.apply()
    brand = (await applying.merchant()).configuration.brand
    assert without_png(brand).logo == Logo("image/png", png())
    assert (await applying.apply()).changes == []


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (SVG.replace(b"path", b"script"), "<script> is not allowed"),
        (png()[:40], "cannot be read as one"),
        (b"GIF89a", "Files of this type are not accepted"),
        (b"<!--" + b"x" * 51_200 + b"-->" + SVG, "larger than 50 KB"),
        (
            (Path(__file__).parents[2] / "examples" / "invoice.pdf").read_bytes(),
            "The logo is a PDF",
        ),
    ],
)
async def test_an_image_that_is_not_safe_is_refused(
    applying: Applying, content: bytes, words: str
) -> None:
    (applying.path.parent / "logo.svg").write_bytes(content)
    [(path, code, message)] = await refuse(applying)
    assert (path, code) == ("/brand/logo", "WRONG_IMAGE")
    assert words in message


async def test_a_missing_image_is_refused(applying: Applying) -> None:
    applying.document["brand"]["logo"] = "absent.svg"
    assert await refuse(applying) == [
        ("/brand/logo", "UNREADABLE", "absent.svg cannot be read: No such file or directory.")
    ]


async def test_verification_is_stored_and_reported_and_unchanged_when_absent(
    applying: Applying,
) -> None:
    asked = {"EMAIL": ["POSTAL_CODE", "CODE"], "SMS": "NONE"}
    applying.document["landingPage"] = {"verification": asked}
    await applying.apply()
    expected = {"EMAIL": ("POSTAL_CODE", "CODE")}
    assert (await applying.merchant()).configuration.landing_page.verification == expected

    applying.document["landingPage"] = {"languages": ["de", "en"]}
    assert (await applying.apply()).changes == []
    applying.document["landingPage"] = {"verification": {"LETTER": ["CODE"]}}
    changes = (await applying.apply()).changes
    assert changes == [
        "landingPage.verification.EMAIL removed",
        'landingPage.verification.LETTER added: ["CODE"]',
    ]
    assert (await applying.merchant()).configuration.landing_page.verification == {
        "LETTER": ("CODE",)
    }


async def test_features_are_stored_and_reported_and_unchanged_when_absent(
    applying: Applying,
) -> None:
    applying.document["landingPage"] = {"features": ["DOCUMENTS"]}
    await applying.apply()
    assert (await applying.merchant()).configuration.landing_page.features == ("DOCUMENTS",)

    applying.document["landingPage"] = {"languages": ["de", "en"]}
    assert (await applying.apply()).changes == []
    applying.document["landingPage"] = {"features": []}
    assert (await applying.apply()).changes == ['landingPage.features changed: ["DOCUMENTS"] -> []']
    assert (await applying.merchant()).configuration.landing_page.features == ()
