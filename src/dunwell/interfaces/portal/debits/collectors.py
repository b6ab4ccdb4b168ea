"""The filter of mandates and debits by who collects: the bank, or a provider's account. Pure."""

_BANK, _ACCOUNT = "BANK", "@"


def parse_collector(text: str) -> tuple[str | None, bool | None]:
    """Return the account and whether the bank collects, each None if it does not matter. An account
    is written with @, because it can have any name."""
    if text.startswith(_ACCOUNT) and len(text) > 1:
        return text.removeprefix(_ACCOUNT), None
    return None, True if text == _BANK else None
