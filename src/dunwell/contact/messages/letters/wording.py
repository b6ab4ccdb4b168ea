"""The product's own words on letters, by language. See `messages.wording`. Pure."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LetterWording:
    reference: str
    customer_number: str
    contract_number: str
    date: str
    phone: str
    email: str
    page: str
    page_title: str
    page_text: str
    page_alt: str
    address: str
    code: str
    transfer_title: str
    transfer_alt: str
    holder: str
    iban: str
    bic: str
    amount: str
    purpose: str
    enclosures: str
    # Before the creditor's name at the end of a letter that no template of the merchant's writes.
    closing: str
    one_page: str
    pages: str


_ENGLISH = LetterWording(
    reference="Reference",
    customer_number="Customer number",
    contract_number="Contract number",
    date="Date",
    phone="Phone",
    email="E-mail",
    page="Page {page} of {pages}",
    page_title="Your page about this letter",
    page_text="See the details, pay, or tell us if something is wrong: scan this with your phone, "
    "or enter the address and the code.",
    page_alt="QR code of your page",
    address="Address",
    code="Your code",
    transfer_title="To pay by bank transfer",
    transfer_alt="QR code for your banking app",
    holder="To",
    iban="IBAN",
    bic="BIC",
    amount="Amount",
    purpose="Reference",
    enclosures="Enclosed",
    closing="Kind regards",
    one_page="{} (1 page)",
    pages="{} ({} pages)",
)
_GERMAN = LetterWording(
    reference="Aktenzeichen",
    customer_number="Kundennummer",
    contract_number="Vertragsnummer",
    date="Datum",
    phone="Telefon",
    email="E-Mail",
    page="Seite {page} von {pages}",
    page_title="Ihre Seite zu diesem Brief",
    page_text="Einzelheiten ansehen, zahlen oder uns sagen, wenn etwas nicht stimmt: mit dem "
    "Telefon scannen oder Adresse und Code eingeben.",
    page_alt="QR-Code Ihrer Seite",
    address="Adresse",
    code="Ihr Code",
    transfer_title="Per Überweisung zahlen",
    transfer_alt="QR-Code für Ihre Banking-App",
    holder="Empfänger",
    iban="IBAN",
    bic="BIC",
    amount="Betrag",
    purpose="Verwendungszweck",
    enclosures="Anlagen",
    closing="Mit freundlichen Grüßen",
    one_page="{} (1 Seite)",
    pages="{} ({} Seiten)",
)
_BY_LANGUAGE = {"en": _ENGLISH, "de": _GERMAN}


def find_letter_wording(language: str) -> LetterWording:
    """The words of a language ("de", "de-AT"); English where there are none yet."""
    return _BY_LANGUAGE.get(language.partition("-")[0].lower(), _ENGLISH)
