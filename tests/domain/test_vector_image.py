"""Logos as SVG: drawings are accepted; anything that could run or load something is refused."""

import pytest

from dunwell.operations.merchant_file.logo_image import ImageRefused, clean_svg, looks_like_svg

HEAD = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9">'


def svg(inner: str) -> bytes:
    return f"{HEAD}{inner}</svg>".encode()


def test_a_drawing_is_kept_without_comments_and_instructions() -> None:
    drawn = b'\xef\xbb\xbf<?xml version="1.0" encoding="utf-16"?><?x y?><!-- by hand -->' + svg(
        '<defs><linearGradient id="g"><stop offset="0"/></linearGradient></defs>'
        '<path d="M0 0h9" fill="url(#g)"/><text x="1">Té</text>'
    )
    kept = clean_svg(drawn)
    assert kept.startswith(HEAD.encode())
    assert b"by hand" not in kept
    assert b"<?" not in kept
    assert "Té".encode() in kept
    assert clean_svg(kept) == kept


@pytest.mark.parametrize(
    "inner",
    [
        "<script>1</script>",
        "<style>*{fill:url(https://a.example)}</style>",
        "<foreignObject/>",
        '<image href="https://a.example/x.png"/>',
        '<use href="#a"/>',
        '<a href="https://a.example"><path d=""/></a>',
        '<animate attributeName="href" to="javascript:1"/>',
        '<set attributeName="onload"/>',
        '<path onload="1"/>',
        '<path style="fill:red"/>',
        '<path fill="url(https://a.example/#g)"/>',
        '<path fill="URL(data:image/svg+xml,x)"/>',
        '<path fill="url("/>',
        '<linearGradient href="https://a.example/#g"/>',
        '<linearGradient href="javascript:1"/>',
        '<g xmlns:xlink="http://www.w3.org/1999/xlink" xlink:href="#a"/>',
        '<h:script xmlns:h="http://www.w3.org/1999/xhtml">1</h:script>',
        '<iframe xmlns="http://www.w3.org/1999/xhtml"/>',
        "<path/>" * 2_001,
    ],
)
def test_active_content_in_an_svg_is_refused(inner: str) -> None:
    with pytest.raises(ImageRefused):
        clean_svg(svg(inner))


@pytest.mark.parametrize(
    "content",
    [
        b"<svg/>",
        b"<html/>",
        b"<svg",
        svg("<path/>") + b"<svg/>",
        "<svg xmlns='http://www.w3.org/2000/svg'>ü</svg>".encode("latin-1"),
        b'<!DOCTYPE svg [<!ENTITY a "b">]>' + svg("&a;"),
        b"<!doctype svg>" + svg(""),
        svg("&a;"),
        "<svg xmlns='http://www.w3.org/2000/svg'/>".encode("utf-16"),
    ],
)
def test_a_file_that_is_no_plain_svg_is_refused(content: bytes) -> None:
    with pytest.raises(ImageRefused):
        clean_svg(content)


def test_an_svg_is_distinguished_from_other_images() -> None:
    assert looks_like_svg(b"\xef\xbb\xbf\n <svg")
    assert not looks_like_svg(b"\x89PNG\r\n\x1a\n")
