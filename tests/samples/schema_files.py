"""Make random files that are valid by a schema of ISO 20022. No bank writes such files, but the
schema allows everything in them."""

import random
from typing import Any

from lxml import etree

_XS = "{http://www.w3.org/2001/XMLSchema}"
_MAX_DEPTH = 11
# Elements that the reader uses. They are generated more often than other optional elements.
_USUAL = frozenset({
    "Stmt", "Ntfctn", "Rpt", "Ntry", "NtryDtls", "TxDtls", "Amt", "CdtDbtInd", "AmtDtls", "TxAmt",
    "InstdAmt", "Refs", "RltdPties", "Dbtr", "Cdtr", "DbtrAcct", "CdtrAcct", "Chrgs", "Rcrd",
    "RmtInf", "RtrInf", "AcctSvcrRef", "BookgDt", "ValDt", "Bal", "Ccy", "Id", "FrToDt",
    "OrgnlPmtInfAndSts", "TxInfAndSts", "StsRsnInf", "OrgnlTxRef", "OrgnlEndToEndId",
})  # fmt: skip
# A text for each pattern of these schemas.
_PATTERNS = {
    "[A-Z]{3,3}": "EUR", "[A-Z]{2,2}": "DE", "[a-z]{2,2}": "de", "[0-9]": "7",
    "[A-Z]{6,6}[A-Z2-9][A-NP-Z0-9]([A-Z0-9]{3,3}){0,1}": "COBADEFFXXX",
    "[A-Z0-9]{4,4}[A-Z]{2,2}[A-Z0-9]{2,2}([A-Z0-9]{3,3}){0,1}": "COBADEFFXXX",
    "[0-9]{1,5}": "12", "[0-9]{1,15}": "3", "[0-9]{8,28}": "123456789012",
    r"\+[0-9]{1,3}-[0-9()+\-]{1,30}": "+49-30123456", "[0-9]{2,3}": "12", "[0-9]{1,3}": "12",
    "[A-Z]{2,2}[0-9]{2,2}[a-zA-Z0-9]{1,30}": "DE89370400440532013000",
    "[a-zA-Z]{2,2}[0-9]{2,2}[a-zA-Z0-9]{1,30}": "DE89370400440532013000",
    "[a-zA-Z0-9]{4}": "Ab12", "[a-zA-Z0-9]{1,4}": "Ab12", "[a-zA-Z0-9]{1,30}": "A1",
    r"[\+]{0,1}[0-9]{1,15}": "+12", "[+]{0,1}[0-9]{1,15}": "+12", "[0-9]{3}": "123",
    "[0-9]{3,4}": "1234", "[A-Z]{2,2}[A-Z0-9]{9,9}[0-9]{1,1}": "DE0001234567",
    "[a-f0-9]{8}-[a-f0-9]{4}-4[a-f0-9]{3}-[89ab][a-f0-9]{3}-[a-f0-9]{12}": (
        "01234567-89ab-4cde-8f01-23456789abcd"
    ),
    "[A-Z0-9]{18,18}[0-9]{2,2}": "5299000J2N45DDNE4Y28", "[A-Z0-9]{12,12}": "5299000J2N45",
    "[A-Z0-9]{18}[0-9]{2}[A-Z0-9]{0,32}": "5299000J2N45DDNE4Y28",
    "[A-Z]{2,2}[B-DF-HJ-NP-TV-XZ0-9]{7,7}[0-9]{1,1}": "DE12345678", "[0-9]{9,9}": "123456789",
    "[0-9]{8,17}": "12345678", "[0-9]{2}": "12", "[0-9]{13,13}": "1234567890123",
    "CH[0-9]{6,6}": "CH123456",
}  # fmt: skip
_BUILT_IN = {
    "xs:date": ("2026-11-27", "2026-11-27Z"),
    "xs:dateTime": ("2026-11-27T08:00:00", "2026-11-27T08:00:00.123+01:00"),
    "xs:boolean": ("true", "false", "1", "0"),
    "xs:gYear": ("2026",), "xs:gYearMonth": ("2026-11",), "xs:time": ("08:00:00",),
}  # fmt: skip
_LETTERS = "aB9 -/?:().,'+äßé€&<>\""


class SchemaFiles:
    """Makes files of one schema."""

    def __init__(self, schema: bytes) -> None:
        self._tree = etree.fromstring(schema)
        self._validator = etree.XMLSchema(self._tree)
        self._types = {
            each.get("name"): each
            for each in self._tree
            if each.tag in (f"{_XS}complexType", f"{_XS}simpleType")
        }
        self._root = next(each for each in self._tree if each.tag == f"{_XS}element")

    def build(self, seed: int) -> bytes:
        """Return a file that was checked against the schema."""
        dice = random.Random(seed)
        namespace = self._tree.get("targetNamespace")
        root = etree.Element(f"{{{namespace}}}{self._root.get('name')}", nsmap={None: namespace})
        self._fill(root, self._root.get("type"), dice, 0)
        self._validator.assertValid(root)
        content: bytes = etree.tostring(root, xml_declaration=True, encoding="UTF-8")
        return content

    def check(self, content: bytes) -> None:
        """Raise if a file is not valid."""
        self._validator.assertValid(etree.fromstring(content))

    def _fill(self, element: Any, name: str, dice: random.Random, depth: int) -> None:
        found = self._types.get(name)
        if found is None or found.tag == f"{_XS}simpleType":
            element.text = self._write_text(name, dice)
            return
        extension = found.find(f"{_XS}simpleContent/{_XS}extension")
        if extension is not None:
            element.text = self._write_text(extension.get("base"), dice)
            for attribute in extension.findall(f"{_XS}attribute"):
                element.set(attribute.get("name"), self._write_text(attribute.get("type"), dice))
            return
        for group in found:
            self._fill_group(element, group, dice, depth)

    def _fill_group(self, element: Any, group: Any, dice: random.Random, depth: int) -> None:
        members = list(group)
        if group.tag == f"{_XS}choice":
            members = [dice.choice(members)]
        for member in members:
            for _ in range(_count(member, dice, depth)):
                if member.tag == f"{_XS}any":
                    etree.SubElement(element, "{urn:example}Anything").text = "x"
                elif member.tag == f"{_XS}element":
                    namespace = self._tree.get("targetNamespace")
                    child = etree.SubElement(element, f"{{{namespace}}}{member.get('name')}")
                    self._fill(child, member.get("type"), dice, depth + 1)
                else:
                    self._fill_group(element, member, dice, depth)

    def _write_text(self, name: str, dice: random.Random) -> str:
        if name in _BUILT_IN:
            return dice.choice(_BUILT_IN[name])
        if name.startswith("xs:"):
            return self._write_restricted(name, {}, dice)
        restriction = self._types[name].find(f"{_XS}restriction")
        rules = {each.tag.removeprefix(_XS): each.get("value") for each in restriction}
        if "enumeration" in rules:
            values: list[str] = [each.get("value") for each in restriction if "enum" in each.tag]
            return dice.choice(values)
        if "pattern" in rules:
            return _PATTERNS[rules["pattern"]]
        return self._write_restricted(restriction.get("base"), rules, dice)

    def _write_restricted(self, base: str, rules: dict[str, str], dice: random.Random) -> str:
        if base == "xs:decimal":
            decimal = _write_decimal(dice, min(int(rules.get("fractionDigits", 2)), 2))
            return max(decimal, rules.get("minInclusive", "0"), key=float)
        if base == "xs:string":
            return _write_string(dice, min(int(rules.get("maxLength", 20)), 40))
        return self._write_text(base, dice)


def _count(member: Any, dice: random.Random, depth: int) -> int:
    least = int(member.get("minOccurs", "1"))
    most = member.get("maxOccurs", "1")
    is_usual = member.get("name") in _USUAL
    if least == 0 and (depth > _MAX_DEPTH or dice.random() > (0.85 if is_usual else 0.12)):
        return 0
    repeated = 1 if most == "1" or not is_usual else dice.choice((1, 1, 2, 3))
    return max(least, min(repeated, repeated if most == "unbounded" else int(most)))


def _write_decimal(dice: random.Random, digits: int) -> str:
    whole = str(dice.choice((0, 1, 12, 119, 12345)))
    return f"{whole}.{dice.randrange(10**digits):0{digits}}" if digits else whole


def _write_string(dice: random.Random, most: int) -> str:
    text = "".join(dice.choice(_LETTERS) for _ in range(dice.randint(1, most)))
    return text if text.strip() else "x" * len(text)
