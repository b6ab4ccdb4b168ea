"""The product's own words in messages, by language.

Adding a language is adding an entry; until then its messages carry these few words in English.
Pure.
"""

from dataclasses import dataclass

from dunwell.contact.messages.facts import ItemType
from dunwell.core.claims.fields import Salutation


@dataclass(frozen=True, slots=True)
class Wording:
    # Of a person, by the last name where the salutation is known, else by the whole name; of a
    # company, where no person is named.
    salutations: dict[Salutation | None, str]
    greeting: str
    company_greeting: str
    item_types: dict[ItemType, str]
    item: str
    amount: str
    # Why an item is owed, where its name alone does not say it; as the pages do.
    reasons: dict[ItemType, str]
    dated: str
    due: str
    total: str
    outstanding: str
    # Of an e-mail's box and its button; the other button stands where no claim is shown.
    to_pay: str
    pay_by: str
    reference: str
    see_and_pay: str
    open_page: str
    sent_by: str
    email: str
    phone: str
    register: str
    supervisory_authority: str
    vat_id: str
    represented_by: str
    # In which role the operator acts: {operator}, {creditor}.
    own_service: str
    own_service_by: str
    agency: str
    registration: str
    # {code}, {address}; of a text message shorter.
    check: str
    short_check: str


_ENGLISH = Wording(
    salutations={"MR": "Dear Mr {}", "MS": "Dear Ms {}"},
    greeting="Dear {}",
    company_greeting="Dear Sir or Madam",
    item_types={
        "PRIMARY": "Original amount",
        "COLLECTION_FEE": "Collection fee",
        "DUNNING_FEE": "Dunning fee",
    },
    item="Item",
    amount="Amount",
    reasons={
        "COLLECTION_FEE": "For collecting the amount, because it was not paid when it was due.",
        "DUNNING_FEE": "For reminding you, because the amount was not paid when it was due.",
    },
    dated="Dated {}.",
    due="Due on {}.",
    total="Total",
    outstanding="Still to pay",
    to_pay="Amount to pay",
    pay_by="Please pay by",
    reference="Reference",
    see_and_pay="See and pay",
    open_page="Open your page",
    sent_by="This message is from:",
    email="E-mail: {}",
    phone="Phone: {}",
    register="Register: {}",
    supervisory_authority="Supervisory authority: {}",
    vat_id="VAT ID: {}",
    represented_by="Represented by: {}",
    own_service="{creditor} writes to you itself.",
    own_service_by="{creditor} writes to you itself. {operator} runs this service for it.",
    agency="{operator} collects this claim for {creditor}.",
    registration="Registered debt collector, number {number}. Supervisory authority: {authority}",
    check="Is this message real? Check it at {address} with the code {code} and the amount.",
    short_check="Real? {address} code {code}",
)
_GERMAN = Wording(
    salutations={"MR": "Sehr geehrter Herr {}", "MS": "Sehr geehrte Frau {}"},
    greeting="Guten Tag {}",
    company_greeting="Sehr geehrte Damen und Herren",
    item_types={
        "PRIMARY": "Ursprünglicher Betrag",
        "COLLECTION_FEE": "Inkassokosten",
        "DUNNING_FEE": "Mahngebühr",
    },
    item="Posten",
    amount="Betrag",
    reasons={
        "COLLECTION_FEE": "Für das Einziehen des Betrags, weil er bei Fälligkeit nicht bezahlt "
        "war.",
        "DUNNING_FEE": "Für die Mahnung, weil der Betrag bei Fälligkeit nicht bezahlt war.",
    },
    dated="Vom {}.",
    due="Fällig am {}.",
    total="Gesamt",
    outstanding="Noch zu zahlen",
    to_pay="Zu zahlender Betrag",
    pay_by="Bitte zahlen bis",
    reference="Aktenzeichen",
    see_and_pay="Ansehen und zahlen",
    open_page="Ihre Seite öffnen",
    sent_by="Diese Nachricht kommt von:",
    email="E-Mail: {}",
    phone="Telefon: {}",
    register="Register: {}",
    supervisory_authority="Aufsichtsbehörde: {}",
    vat_id="USt-IdNr.: {}",
    represented_by="Vertreten durch: {}",
    own_service="{creditor} schreibt Ihnen selbst.",
    own_service_by="{creditor} schreibt Ihnen selbst. Den Dienst dafür betreibt {operator}.",
    agency="{operator} zieht diese Forderung für {creditor} ein.",
    registration="Registrierter Inkassodienstleister, Nummer {number}. "
    "Aufsichtsbehörde: {authority}",
    check="Ist diese Nachricht echt? Prüfen Sie es auf {address} mit dem Code {code} und dem "
    "Betrag.",
    short_check="Echt? {address} Code {code}",
)
_BY_LANGUAGE = {"en": _ENGLISH, "de": _GERMAN}


def find_wording(language: str) -> Wording:
    """The words of a language ("de", "de-AT"); English where there are none yet."""
    return _BY_LANGUAGE.get(language.partition("-")[0].lower(), _ENGLISH)
