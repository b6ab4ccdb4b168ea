"""Read XML from outside: without entities, network or document type, with a bounded number of
elements and depth. Elements are found by their local names, so that every version of a message is
read in the same way. Pure.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from lxml import etree

from dunwell.cases.statements.formats.coded_text import CodedText
from dunwell.cases.statements.formats.problems import build_problem
from dunwell.cases.statements.formats.statement import FilePlace, clean_text

# lxml has no type hints, and gives the class no other name.
_LxmlElement: TypeAlias = etree._Element  # noqa: SLF001

# A statement of 40,000 entries has 1.2 million elements in 25 MB. Each takes some 200 bytes of
# memory. libxml2 limits the depth to 256 and a text to ten million characters.
_MAX_ELEMENTS = 1_500_000
_MAX_ATTRIBUTES = 1_000_000
# An entry has about ten children. The children of an element with more than this are searched each
# time.
_MAX_LISTED_CHILDREN = 100
_DECLARED = re.compile(r"""<\?xml\s[^>]{0,200}?encoding\s*=\s*["']([A-Za-z0-9._-]{1,40})["']""")
_DECLARATION = re.compile(r"<\?xml\s[^>]{0,400}\?>")
# These are supersets of ASCII, so that the declaration itself can be read.
_ENCODINGS = frozenset(
    {"utf-8", "us-ascii", "ascii", "windows-1252", "cp1252"}
    | {f"iso-8859-{part}" for part in (1, 2, 3, 4, 5, 7, 9, 10, 13, 14, 15, 16)}
    | {f"windows-{page}" for page in range(1250, 1259)}
)
_BYTE_ORDER_MARKS = {
    b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16",
}  # fmt: skip


class XmlElement:
    """An element whose children are found by their local names.

    An entry of a statement is asked for some sixty paths. Its children are listed by name once,
    because lxml takes longer to find one than Python to look it up. Elements with many children,
    such as a statement, keep no list: the parts of an entry are freed once it is parsed.
    """

    __slots__ = ("_children", "_element")

    def __init__(self, element: _LxmlElement) -> None:
        self._element = element
        self._children: dict[str, list[XmlElement]] | None = None

    @property
    def name(self) -> str:
        """The name without the namespace."""
        return _get_local_name(self._element.tag)

    @property
    def text(self) -> str | None:
        text: str | None = self._element.text
        return text

    @property
    def has_children(self) -> bool:
        return len(self._element) > 0

    def get(self, attribute: str, default: str | None = None) -> str | None:
        value: str | None = self._element.get(attribute, default)
        return value

    def list_all(self, names: Iterable[str]) -> list["XmlElement"]:
        """Return the element and all elements below it that have one of these names."""
        return [XmlElement(each) for each in self._element.iter(*(f"{{*}}{one}" for one in names))]

    def list_children(self, name: str) -> Iterable["XmlElement"]:
        """Return the children with this name, in the document's order."""
        if self._children is None:
            if len(self._element) > _MAX_LISTED_CHILDREN:
                return map(XmlElement, self._element.iterchildren(f"{{*}}{name}"))
            found: dict[str, list[XmlElement]] = {}
            for child in self._element:
                local_name = _get_local_name(child.tag)
                if local_name in found:
                    found[local_name].append(XmlElement(child))
                else:
                    found[local_name] = [XmlElement(child)]
            self._children = found
        return self._children.get(name, ())

    def list_names(self) -> list[str]:
        """Return the names of the element and of its children."""
        return [self.name, *(XmlElement(each).name for each in self._element)]


@lru_cache(maxsize=2_000)
def _get_local_name(tag: str) -> str:
    return tag.rpartition("}")[2]


@dataclass(frozen=True, slots=True)
class XmlDocument:
    root: XmlElement
    # What was wrong and did not prevent reading the document.
    problems: tuple[CodedText, ...] = ()


def parse_xml(content: bytes, place: FilePlace) -> XmlDocument:
    """Parse a document. Raises BankFileRefused if it is not well-formed, or could attack a reader
    of XML."""
    text, problems = _decode(content, place)
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise place.refuse("DOCUMENT_TYPE")
    elements = text.count("<") - text.count("</")
    if elements > _MAX_ELEMENTS or text.count("=") > _MAX_ATTRIBUTES:
        raise place.refuse("TOO_MANY_ELEMENTS")
    parser = etree.XMLParser(
        encoding="utf-8", resolve_entities=False, no_network=True, load_dtd=False,
        huge_tree=False, remove_comments=True, remove_pis=True,
    )  # fmt: skip
    # Only at the beginning: a search through a file of such beginnings would not end.
    declaration = _DECLARATION.match(text)
    document = text[declaration.end() :] if declaration else text
    try:
        root = etree.fromstring(document.encode(), parser)
    except (etree.XMLSyntaxError, UnicodeEncodeError) as error:
        why = clean_text(error.msg if isinstance(error, SyntaxError) else error.reason)
        raise place.refuse("DAMAGED_XML", why=why or "") from None
    return XmlDocument(XmlElement(root), problems)


def find_child(element: XmlElement | None, path: str) -> XmlElement | None:
    """Return the first element at a path of local names such as "RmtInf/Strd", None if there is
    none."""
    return next(iter(list_children(element, path)), None)


def list_children(element: XmlElement | None, path: str) -> Iterable[XmlElement]:
    """Return all elements at a path of local names, in the document's order."""
    if element is None:
        return ()
    names = _split_path(path)
    found = element.list_children(names[0])
    for name in names[1:]:
        found = [child for parent in found for child in parent.list_children(name)]
    return found


@lru_cache(maxsize=500)
def _split_path(path: str) -> tuple[str, ...]:
    return tuple(path.split("/"))


def find_text(element: XmlElement | None, *paths: str) -> str | None:
    """Return the text at the first of these paths that has one, cleaned."""
    for path in paths:
        for child in list_children(element, path):
            text = clean_text(child.text)
            if text is not None:
                return text
    return None


def list_texts(element: XmlElement | None, path: str) -> tuple[str, ...]:
    """Return all texts at a path that are not empty, cleaned."""
    texts = (clean_text(child.text) for child in list_children(element, path))
    return tuple(text for text in texts if text is not None)


def _decode(content: bytes, place: FilePlace) -> tuple[str, tuple[CodedText, ...]]:
    """Return the text, and a problem if its encoding is not the declared one."""
    encoding = next(
        (name for mark, name in _BYTE_ORDER_MARKS.items() if content.startswith(mark)), None
    )
    if encoding is None:
        declared = _DECLARED.search(content[:400].decode("latin-1"))
        encoding = declared[1].lower() if declared else "utf-8"
        if encoding not in _ENCODINGS:
            raise place.refuse("UNKNOWN_ENCODING", encoding=encoding)
    try:
        return content.decode(encoding).lstrip(), ()
    except UnicodeDecodeError:
        if encoding == "utf-16":
            raise place.refuse("DAMAGED_FILE") from None
        # Only names and texts can be affected: digits are the same in both encodings.
        text = content.decode("windows-1252", errors="replace").lstrip()
        return text, (build_problem("OTHER_ENCODING", encoding=encoding.upper()),)
