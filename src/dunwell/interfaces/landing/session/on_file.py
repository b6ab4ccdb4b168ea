"""What is known of a debtor: where to write to, and what can be asked for as a proof. Pure."""

from collections.abc import Mapping

import msgspec


class OnFile(msgspec.Struct, frozen=True, array_like=True, gc=False):
    email: str | None = None
    mobile_number: str | None = None
    postal_address: Mapping[str, str | None] | None = None
    # As 1987-03-04.
    date_of_birth: str | None = None
    contract_number: str | None = None
    customer_number: str | None = None

    def find(self, channel: str) -> str | None:
        """Where a message of this channel goes, EMAIL or SMS."""
        return self.email if channel == "EMAIL" else self.mobile_number

    @property
    def postal_code(self) -> str | None:
        return (self.postal_address or {}).get("postal_code")
