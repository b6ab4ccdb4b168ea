"""Writes images anew from their pixels: metadata, comments and whatever else travels in the file
stay behind. It runs in the child process that `inspection` keeps. Pure.
"""

import io
from typing import Any

from PIL import Image

from dunwell.core.files.content_types import JPEG, PNG, WEBP, refuse

MAX_PIXELS = 60_000_000
# Larger images are packed less tightly, so that all are written within the child's time.
_TIGHT_PIXELS = 8_000_000
_ORIENTATION = 0x0112
_QUALITY = 90


def clean_image(content: bytes, content_type: str) -> bytes:
    """The same picture in the same format, its first frame. Raises UnsupportedMediaType for
    one of too many pixels, and what Pillow raises."""
    name = {JPEG: "JPEG", PNG: "PNG", WEBP: "WEBP"}[content_type]
    out = io.BytesIO()
    with Image.open(io.BytesIO(content), formats=(name,)) as image:
        _check_pixels(image)
        image.load()
        options = _WRITING[content_type](image, content)
        # How it is turned is kept; a photograph of a letter would else lie on its side.
        orientation = image.getexif().get(_ORIENTATION)
        if isinstance(orientation, int) and orientation in range(2, 9):
            options["exif"] = _keep_orientation(orientation)
        # A colour that stands for none belongs to the pixels, and nothing else does.
        kept = {key: value for key, value in image.info.items() if key == "transparency"}
        image.info.clear()
        image.info.update(kept)
        image.save(out, name, **options)
    return out.getvalue()


def _check_pixels(image: Any) -> None:
    """Before any pixel is decoded."""
    width, height = image.size
    frames = 1 if image.format == "MPO" else getattr(image, "n_frames", 1)
    if width * height * frames > MAX_PIXELS:
        raise refuse(f"The image has more than {MAX_PIXELS:,} pixels; make it smaller.")


def _keep_orientation(orientation: int) -> Any:
    exif = Image.Exif()
    exif[_ORIENTATION] = orientation
    return exif


def _write_jpeg(image: Any, _: bytes) -> dict[str, Any]:
    # A photograph with a second one inside is read as another format, which cannot be kept as is.
    return {"quality": "keep" if image.format == "JPEG" else _QUALITY}


def _write_png(image: Any, _: bytes) -> dict[str, Any]:
    return {"compress_level": 6 if _is_small(image) else 1}


def _write_webp(image: Any, content: bytes) -> dict[str, Any]:
    is_lossless = content[12:16] == b"VP8L" and _is_small(image)
    return {"quality": _QUALITY, "lossless": is_lossless, "method": 2 if _is_small(image) else 0}


def _is_small(image: Any) -> bool:
    width, height = image.size
    return bool(width * height <= _TIGHT_PIXELS)


_WRITING = {JPEG: _write_jpeg, PNG: _write_png, WEBP: _write_webp}
