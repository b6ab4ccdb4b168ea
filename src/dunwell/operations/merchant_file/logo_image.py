"""Check the SVG of a logo, and convert images to and from data: addresses (RFC 2397). Pure."""

import base64
import re
import xml.etree.ElementTree as ET

from dunwell.accounts.merchants.configuration import Logo

SVG_TYPE = "image/svg+xml"
_NAMESPACE = "http://www.w3.org/2000/svg"
_ELEMENTS = frozenset({
    "svg", "g", "defs", "title", "desc", "path", "rect", "circle", "ellipse", "line", "polyline",
    "polygon", "text", "tspan", "linearGradient", "radialGradient", "stop", "clipPath", "mask",
})  # fmt: skip
_ATTRIBUTES = frozenset({
    "id", "class", "role", "aria-label", "aria-hidden", "lang", "version", "viewBox", "width",
    "height", "preserveAspectRatio", "x", "y", "x1", "y1", "x2", "y2", "dx", "dy", "cx", "cy", "r",
    "rx", "ry", "fx", "fy", "d", "points", "transform", "pathLength", "href", "offset",
    "gradientUnits", "gradientTransform", "spreadMethod", "clipPathUnits", "maskUnits",
    "maskContentUnits", "fill", "fill-opacity", "fill-rule", "stroke", "stroke-width",
    "stroke-opacity", "stroke-linecap", "stroke-linejoin", "stroke-miterlimit", "stroke-dasharray",
    "stroke-dashoffset", "stop-color", "stop-opacity", "opacity", "color", "clip-path", "clip-rule",
    "mask", "font-family", "font-size", "font-style", "font-weight", "letter-spacing",
    "text-anchor", "dominant-baseline", "textLength", "lengthAdjust", "visibility", "display",
    "vector-effect", "shape-rendering", "text-rendering", "paint-order",
})  # fmt: skip
# A reference to a part of the same image.
_FRAGMENT = re.compile(r"#[A-Za-z_][\w.-]*")
_REFERENCE = re.compile(r"url\(\s*['\"]?(.*?)['\"]?\s*\)", re.IGNORECASE | re.DOTALL)
_MAX_ELEMENTS = 2_000

ET.register_namespace("", _NAMESPACE)


class ImageRefused(Exception):  # noqa: N818 - the suffix Error would add nothing
    """The image is refused. The message says why, and what to do."""


def looks_like_svg(content: bytes) -> bool:
    """Return whether this looks like an SVG. No other accepted image type starts with a tag."""
    return content.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<")


def clean_svg(content: bytes) -> bytes:
    """Return the SVG as it is stored. Raises ImageRefused if it has anything that is not
    allowed.
    """
    root = _parse(content)
    if root.tag != f"{{{_NAMESPACE}}}svg":
        raise ImageRefused(
            'This is not an SVG: its root element is not <svg> with xmlns="' + _NAMESPACE + '".'
        )
    elements = list(root.iter())
    if len(elements) > _MAX_ELEMENTS:
        raise ImageRefused(f"It has more than {_MAX_ELEMENTS} elements; simplify it.")
    for element in elements:
        _check_element(element)
    return ET.tostring(root, encoding="unicode").encode()


def _parse(content: bytes) -> ET.Element:
    # Entities can only be declared in a document type, so without one nothing can expand.
    if b"<!DOCTYPE" in content.upper() or b"<!ENTITY" in content.upper():
        raise ImageRefused("It has a <!DOCTYPE> or entities; remove them.")
    try:
        # Decode it first, so that an encoding declared in the image is ignored.
        return ET.fromstring(content.decode("utf-8-sig"))  # noqa: S314 - no document type
    except UnicodeDecodeError as error:
        raise ImageRefused("It is not UTF-8; save it as UTF-8.") from error
    except (ET.ParseError, LookupError, ValueError) as error:
        raise ImageRefused(f"It cannot be read as XML: {error}.") from error


def _check_element(element: ET.Element) -> None:
    name = _get_local_name(element.tag)
    if name not in _ELEMENTS:
        raise ImageRefused(f"<{name}> is not allowed; use only shapes, gradients and text.")
    for key, value in element.attrib.items():
        attribute = _get_local_name(key)
        if key.startswith("{") or attribute not in _ATTRIBUTES:
            raise ImageRefused(
                f'The attribute "{attribute}" of <{name}> is not allowed; remove it.'
            )
        targets = [value] if attribute == "href" else _REFERENCE.findall(value)
        is_broken = attribute != "href" and "url(" in value.lower() and not targets
        if is_broken or not all(_FRAGMENT.fullmatch(target) for target in targets):
            raise ImageRefused(
                f'"{attribute}" of <{name}> refers to something outside the image; remove it.'
            )


def _get_local_name(tag: str) -> str:
    """Return the name without the SVG namespace. Another namespace is kept, so that the name
    matches no allowed one."""
    return tag.removeprefix(f"{{{_NAMESPACE}}}")


DATA_PREFIX = "data:"
_ENCODED = ";base64"


def render_data_address(logo: Logo) -> str:
    text = base64.b64encode(logo.content).decode()
    return f"{DATA_PREFIX}{logo.content_type}{_ENCODED},{text}"


def parse_data_address(address: str) -> bytes:
    """Return the decoded image; its type is read from the image itself. Raises ImageRefused."""
    head, _, text = address.partition(",")
    try:
        content = base64.b64decode(text, validate=True)
    except ValueError:
        content = b""
    if not (head.endswith(_ENCODED) and content):
        raise ImageRefused('Write it as "data:image/png;base64," and its base64.')
    return content
