"""AqBanking, a reader of many programs for home banking, finds the same in MT940 as our reader."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.servers.debian import need_program
from tests.statements.formats.test_mt940 import STATEMENT
from tests.support.bank_files import parse_one_statement

# Our field -> theirs, in the file that they import into.
_FIELDS = {
    "bank_reference": "bankReference",
    "end_to_end_id": "endToEndReference",
    "mandate_id": "mandateId",
    "counterparty_name": "remoteName",
    "counterparty_iban": "remoteIban",
}
FILES = {
    "one statement": STATEMENT,
    "a line without bank reference": STATEMENT.replace("//2611020001", ""),
    "a reversal of a debit": STATEMENT.replace("RCR10,00", "RDR10,00"),
    "amounts without cents": STATEMENT.replace("CR119,00", "CR119,").replace("10,00", "10,5"),
    "a day in the old year": STATEMENT.replace("2701020102D", "2612310102D"),
    "lines after the text of the statement": (
        STATEMENT.removesuffix("-\n") + ":61:2701020102C7,00NTRFNONREF\n:86:text\n"
    ),
    "windows line ends": STATEMENT.replace("\n", "\r\n"),
}


def list_theirs(content: str, folder: Path) -> Iterator[dict[str, str]]:
    """Import a file with AqBanking and yield the fields of each transaction."""
    program = need_program("aqbanking-cli", "aqbanking-tools")
    source, target = folder / "bank.sta", folder / "imported.ctx"
    source.write_bytes(content.encode())
    subprocess.run(
        [
            str(program), "-n", "-D", str(folder / "settings"), "import", "--importer=swift",
            "--profile=SWIFT-MT940", "-f", str(source), "-c", str(target),
        ],
        check=True, capture_output=True, timeout=60, env={"HOME": str(folder), "PATH": "/usr/bin"},
    )  # fmt: skip
    found = target.read_text()
    for block in re.findall(r"\n +transaction \{(.*?)\} #transaction\n", found, re.DOTALL):
        fields = re.findall(r'^ +char (\w+)="(.*)"$', block, re.MULTILINE)
        yield {name: unquote(value) for name, value in fields}


def convert_amount(value: str) -> int:
    """Return the cents of "11900/100:EUR" or "-5:EUR"."""
    number, _, currency = value.partition(":")
    assert currency == "EUR"
    numerator, _, denominator = number.partition("/")
    cents, rest = divmod(int(numerator) * 100, int(denominator or "1"))
    assert rest == 0
    return cents


@pytest.mark.parametrize("name", FILES)
def test_both_readers_find_the_same_entries(name: str, tmp_path: Path) -> None:
    theirs = list(list_theirs(FILES[name], tmp_path))
    ours = parse_one_statement(FILES[name].encode()).entries
    assert [
        (entry.amount_cents, f"{entry.booked_on:%Y%m%d}", f"{entry.value_on:%Y%m%d}")
        for entry in ours
    ] == [(convert_amount(each["value"]), each["date"], each["valutaDate"]) for each in theirs]
    for entry, other in zip(ours, theirs, strict=True):
        (detail,) = entry.details
        for our_field, their_field in _FIELDS.items():
            source = entry if our_field == "bank_reference" else detail
            assert getattr(source, our_field) == other.get(their_field)
