"""How a merchant's colour is read where it is shown, and its logo as it is stored. Pure."""

import msgspec

from dunwell.accounts.merchants.configuration import Logo
from dunwell.platform.text.colors import is_color, measure_contrast

_WHITE = "#ffffff"
# As e-mails judge it: a line is seen, a text is read (WCAG 2).
_SEEN, _READ = 3.0, 4.5


class BrandView(msgspec.Struct, frozen=True):
    """`color`: what is judged, "" for none. `contrast`: on white, to one place, rounded down.
    `logo`: of which kind; "" for none. `is_mailed`: whether e-mails have it."""

    color: str = ""
    contrast: str = ""
    verdict: str = ""
    logo: str = ""
    logo_bytes: int = 0
    is_mailed: bool = False


def view_brand(color: str, logo: Logo | None) -> BrandView:
    view = BrandView()
    if logo is not None:
        size, is_mailed = len(logo.content), logo.png is not None
        view = BrandView(logo=logo.content_type, logo_bytes=size, is_mailed=is_mailed)
    known = color.strip().lower()
    if not is_color(known):
        return view
    contrast = measure_contrast(known, _WHITE)
    verdict = "READ" if contrast >= _READ else "SEEN" if contrast >= _SEEN else "UNSEEN"
    tenths = int(contrast * 10)
    said = f"{tenths // 10}.{tenths % 10}"
    return msgspec.structs.replace(view, color=known, contrast=said, verdict=verdict)
