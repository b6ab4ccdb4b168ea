"""What the code that banking apps scan holds: a credit transfer by EPC069-12, version 002. Pure."""

from dunwell.messages.formatting import render_line

_MAX_CENTS = 99_999_999_999
_MAX_NAME, _MAX_TEXT = 70, 140
# Of the whole, in UTF-8; what more needs a larger symbol than the scheme allows.
_MAX_BYTES = 331


def render_payment_code(
    *, holder: str, iban: str, bic: str | None, cents: int, currency: str, purpose: str
) -> str | None:
    """None for what the scheme cannot express: another currency, no amount, texts too long."""
    holder, purpose = render_line(holder).strip(), render_line(purpose).strip()
    if currency != "EUR" or not 0 < cents <= _MAX_CENTS:
        return None
    if not holder or len(holder) > _MAX_NAME or len(purpose) > _MAX_TEXT:
        return None
    amount = f"EUR{cents // 100}.{cents % 100:02}"
    account = "".join(iban.split())
    lines = ["BCD", "002", "1", "SCT", bic or "", holder, account, amount, "", "", purpose]
    payload = "\n".join(lines).rstrip("\n")
    return payload if len(payload.encode()) <= _MAX_BYTES else None
