"""The filter of mandates and debits by who collects: the bank, or a provider's account. Pure."""

_BANK, _ACCOUNT = "BANK", "@"


def parse_collector(text: str) -> tuple[str | None, bool | None]:
    """Return the provider's account, and True if the bank collects. Both are None if the text
    selects no collector. "@" precedes the account's name, because an account may be named BANK."""
    if text.startswith(_ACCOUNT) and len(text) > 1:
        return text.removeprefix(_ACCOUNT), None
    return None, True if text == _BANK else None
