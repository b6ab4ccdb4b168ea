"""Operators of an installation: Kontor collects for others, Nordwind runs Dunwell for itself."""

from typing import Any

import msgspec

from dunwell.accounts.installation.installation_file import Operator

AGENCY_DOCUMENT: dict[str, Any] = {
    "role": "AGENCY",
    "legal": {
        "name": "Kontor Inkasso GmbH",
        "address": "Speicherweg 12\n20457 Hamburg",
        "representatives": ["Petra Hansen"],
        "register": "Amtsgericht Hamburg, HRB 445566",
        "vatId": "DE987654321",
    },
    "contact": {"email": "post@kontor.example", "phone": "+49 40 7654321"},
    "registration": {
        "number": "2026/01-INK",
        "authority": "Bundesamt für Justiz\n53094 Bonn\nrdg@bfj.example",
    },
}
AGENCY = msgspec.convert(AGENCY_DOCUMENT, Operator)
OWN = msgspec.structs.replace(AGENCY, role="OWN", registration=None)
# Nordwind's pages carry Nordwind's own name.
ITSELF = msgspec.structs.replace(
    OWN, legal=msgspec.structs.replace(OWN.legal, name="Nordwind Schuhe GmbH")
)
