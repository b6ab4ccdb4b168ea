"""Texts of notices: in both languages, complete, and only with the given values."""

import re
from dataclasses import replace
from datetime import UTC, date, datetime
from html import unescape

import msgspec
import pytest

from dunwell.accounts.merchants.merchant import Merchant
from dunwell.contact.messages.claim_links import TOKEN_MASK
from dunwell.contact.messages.templates.sms_parts import count_parts
from dunwell.contact.notices.notice import Addressee, DebtorNotice, NoticeChannel
from dunwell.contact.notices.notice_codes import NOTICE_CODE_MASK
from dunwell.contact.notices.occasions.facts import (
    OCCASIONS,
    ChangeCodeFacts,
    ChangeNoticeFacts,
    CodeFacts,
    ContactChangeFacts,
    DebitFacts,
    DeferralFacts,
    DisputeAnswerFacts,
    DisputeReceivedFacts,
    Facts,
    InstalmentDueFacts,
    InstalmentMissedFacts,
    LinkFacts,
    MandateFacts,
    OverdueFacts,
    PauseFacts,
    PlanBrokenFacts,
    PlanFacts,
    PlanFulfilledFacts,
    ReceiptFacts,
    RejectionFacts,
    ReturnFacts,
    TransferFacts,
)
from dunwell.interfaces.landing.notifications.writer import NOTICE_TEMPLATES, NoticeWriter
from dunwell.platform.text.translation import DEBTOR_CATALOGUES, load_languages
from tests.support.direct_debits import CREDITOR_ID
from tests.support.merchants import CONFIGURATION

AT = datetime(2026, 3, 2, 9, tzinfo=UTC)
APRIL, MAY = date(2026, 4, 1), date(2026, 5, 1)
RECEIPT = ReceiptFacts("INV-1001", "EUR", 5000, AT, "tx_1_2", "Sandbox", 5240)
PLAN = PlanFacts("INV-1001", "EUR", ((APRIL, 5120), (MAY, 5620)), 500, is_approved=True)
DEFERMENT = DeferralFacts("INV-1001", "EUR", 10240, APRIL, is_approved=True)
ANSWER = DisputeAnswerFacts(
    "INV-1001", "7K3M-9QXA", is_accepted=False, is_closed=False, reason="Zu spät.", quiet_days=7
)
CHANGE = ChangeNoticeFacts("EMAIL", AT, "e***@example.org")
ALL: list[Facts] = [
    CodeFacts(), LinkFacts(), RECEIPT, PLAN, DEFERMENT, ChangeCodeFacts(), CHANGE,
    ChangeNoticeFacts("SMS", AT, None),
    ANSWER, replace(ANSWER, is_accepted=True, reason=None, quiet_days=1),
    replace(ANSWER, is_accepted=True, is_closed=True), replace(ANSWER, is_closed=True),
    RejectionFacts("INV-1001", is_plan=True, reason="Zu wenig."),
    RejectionFacts("INV-1001", is_plan=False, reason=None),
    replace(RECEIPT, outstanding_cents=None), replace(RECEIPT, outstanding_cents=0, method=None),
    TransferFacts("INV-1001", "EUR", 10240, APRIL, MAY), PauseFacts("INV-1001", APRIL),
    DisputeReceivedFacts("INV-1001", "7K3M-9QXA", APRIL),
    OverdueFacts("INV-1001", "7", "0195", "7K3M-9QXA", APRIL, MAY),
    ContactChangeFacts("EMAIL", AT, "e***@example.org"), ContactChangeFacts("SMS", AT, "+49***678"),
    PlanFacts("INV-1001", "EUR", ((APRIL, 5120),), 0, is_approved=False),
    DeferralFacts("INV-1001", "EUR", 10240, APRIL, is_approved=False),
    InstalmentDueFacts("INV-1001", "EUR", 3414, APRIL),
    InstalmentMissedFacts("INV-1001", "EUR", 3414, APRIL, MAY),
    PlanBrokenFacts("INV-1001", "EUR", 3414, APRIL),
    DebitFacts("INV-1001", "EUR", 3414, APRIL, "12-00000ABC-1", CREDITOR_ID, "DE •••• 2051"),
    *(
        MandateFacts(
            "INV-1001", "12-00000ABC-1", CREDITOR_ID, "DE •••• 2051", "I authorise.", APRIL, 14,
            is_active=each,
        )
        for each in (True, False)
    ),
    *(
        ReturnFacts("INV-1001", "EUR", cause, 10240, AT, "tx_1_2", left)
        for cause, left in (
            ("REFUNDED", 0), ("REFUND_FAILED", 0), ("CHARGED_BACK", 10240),
            ("CHARGEBACK_REVERSED", 0), ("REVERSED", None),
        )
    ),
    PlanFulfilledFacts("INV-1001", is_closed=True), PlanFulfilledFacts("INV-1001", is_closed=False),
]  # fmt: skip
TOLD_ONCE: list[Facts] = [each for each in ALL if isinstance(each, tuple(OCCASIONS.values()))]
BY_SMS: list[Facts] = [
    CodeFacts(), LinkFacts(), ChangeCodeFacts(), CHANGE, ChangeNoticeFacts("SMS", AT, None),
    *TOLD_ONCE,
]  # fmt: skip
HOSTILE = (
    'Evil\r\nBcc: x@y.z <img src=x onerror="a()"> **b** [l](https://e.example) {{ 0 }} {% x %}'
)
_LINKED = (
    LinkFacts, DisputeAnswerFacts, RejectionFacts, InstalmentDueFacts, InstalmentMissedFacts,
    PlanFacts, DebitFacts, MandateFacts,
    DeferralFacts, TransferFacts, PauseFacts, DisputeReceivedFacts,
    PlanBrokenFacts, PlanFulfilledFacts, ReturnFacts,
)  # fmt: skip
LINK = f"https://pay.nordwind.example/q/{TOKEN_MASK}"
WRITER = NoticeWriter(load_languages(DEBTOR_CATALOGUES), "https://pay.nordwind.example")


def write(
    facts: Facts, language: str = "de", channel: NoticeChannel = "EMAIL", name: str = "Nordwind"
) -> DebtorNotice:
    merchant = Merchant(1, "nordwind", name, True, 1, CONFIGURATION, None)
    return WRITER.write(merchant, Addressee(7, channel, "erika@example.org", language), facts)


def body(notice: DebtorNotice) -> str:
    """Return the text between the creditor's name and the footer."""
    return notice.body_text.partition("\n\n--\n")[0].partition("\n\n")[2]


def read_html(notice: DebtorNotice) -> str:
    """Return the text of the HTML body in one line."""
    assert notice.body_html is not None
    [headline, main] = re.findall("<h1[^>]*>(.*?)</h1>(.*)</main>", notice.body_html, re.DOTALL)[0]
    assert unescape(headline) == notice.subject
    shown = re.sub(' href="([^"]*)"([^>]*)>([^<]*)', r">\3: \1", main)
    return " ".join(re.sub("<[^>]*>", " ", shown).split())


def test_the_text_of_a_code_notice_is_as_expected() -> None:
    notice = write(CodeFacts(), "en")
    assert notice.subject == "Your code for Nordwind"
    assert body(notice).split("\n\n")[:2] == [
        f"Your code: {NOTICE_CODE_MASK}",
        "Enter it within 10 minutes on the page that asked for it.",
    ]
    assert notice.body_html is not None
    assert f"<strong>{NOTICE_CODE_MASK}</strong>" in notice.body_html


def test_a_receipt_has_the_content_of_its_page() -> None:
    assert body(write(RECEIPT)).split("\n\n")[1].splitlines() == [
        "- Bezahlt: 50,00\N{NO-BREAK SPACE}€",
        "- An: Nordwind Schuhe GmbH",
        "- Für: INV-1001",
        "- Am: 2. März 2026, 10:00 MEZ",
        "- Bezahlt mit: Sandbox",
        "- Zahlungsnummer: tx_1_2",
        "- Noch zu zahlen: 52,40\N{NO-BREAK SPACE}€",
    ]


def test_the_receipt_of_a_closed_claim_names_no_remaining_amount() -> None:
    text = body(write(replace(RECEIPT, outstanding_cents=None), "en"))
    assert "- Payment number: tx_1_2" in text
    for left in ("Still to pay", "the rest", "Nothing is left"):
        assert left not in text


def test_a_plan_confirmation_names_every_instalment_and_the_fee() -> None:
    text = body(write(PLAN, "en"))
    assert "- 1 April 2026: €51.20\n- 1 May 2026: €56.20\n" in text
    assert "The total is €107.40. This includes €5.00 for the payment plan." in text


def test_a_request_is_not_confirmed_as_an_agreement() -> None:
    asked = [each for each in ALL if getattr(each, "is_approved", None) is False]
    assert all("request" in str(write(each, "en").subject) for each in asked)
    assert all("not send you any reminders" not in body(write(each, "en")) for each in asked)
    assert "not send you any reminders" in body(write(DEFERMENT, "en"))
    assert "We remind you three days before each payment." in body(write(PLAN, "en"))


@pytest.mark.parametrize("facts", ALL, ids=lambda facts: f"{facts.template}")
def test_text_and_html_say_the_same_in_both_languages(facts: Facts) -> None:
    for language in ("de", "en"):
        notice = write(facts, language)
        text = " ".join(re.sub("^- ", "", body(notice), flags=re.MULTILINE).split())
        assert read_html(notice).replace(" .", ".").replace(" :", ":").replace(" ,", ",") == text
        assert notice.body_html is not None
        assert f'<html lang="{language}"' in notice.body_html
        assert "Nordwind Schuhe GmbH" in notice.body_text
    assert write(facts, "de").body_text != write(facts, "en").body_text
    assert write(facts, "fr").body_text == write(facts, "en").body_text


@pytest.mark.parametrize("facts", BY_SMS, ids=lambda facts: f"{facts.template}")
def test_an_sms_notice_is_one_part_of_plain_characters(facts: Facts) -> None:
    for language in ("de", "en"):
        notice = write(facts, language, "SMS")
        assert (notice.subject, notice.body_html) == (None, None)
        assert notice.body_text.startswith("Nordwind: ")
        parts = count_parts(notice.body_text)
        assert (parts.alphabet, parts.count) == ("GSM-7", 1)


def test_the_sms_about_the_rejected_dispute_of_a_closed_claim_says_that_it_is_closed() -> None:
    text = write(replace(ANSWER, is_closed=True), "en", "SMS").body_text
    assert "The claim is closed in any case." in text
    assert "remains open" not in text


def test_a_name_with_typographic_characters_does_not_add_sms_parts() -> None:
    name = "\u201eNord\u00a0Wind\u201c \u2013 Schuhe\u2026"
    text = write(CodeFacts(), channel="SMS", name=name).body_text
    assert text.startswith('"Nord Wind" - Schuhe...: Ihr Code')
    assert count_parts(text).alphabet == "GSM-7"


def test_occasions_have_texts_for_every_channel_and_can_be_stored() -> None:
    assert {each.template for each in TOLD_ONCE} == OCCASIONS.keys()
    for facts in TOLD_ONCE:
        kept = msgspec.json.decode(msgspec.json.encode(facts))
        assert msgspec.convert(kept, OCCASIONS[facts.template]) == facts


def test_only_kinds_with_a_secret_have_its_mask() -> None:
    for facts in ALL:
        text = write(facts).body_text
        assert (NOTICE_CODE_MASK in text) == isinstance(facts, CodeFacts | ChangeCodeFacts)
        assert (TOKEN_MASK in text) == isinstance(facts, _LINKED)


def test_only_the_link_of_a_notice_is_a_link_in_html() -> None:
    for facts in ALL:
        links = re.findall('href="([^"]*)"', str(write(facts).body_html))
        assert links == ([LINK] if isinstance(facts, _LINKED) else [])


@pytest.mark.parametrize("language", ["de", "en"])
def test_no_value_can_add_markup_or_inject_anything(language: str) -> None:
    hostile: list[Facts] = [
        ReceiptFacts(HOSTILE, "EUR", 1, AT, HOSTILE, HOSTILE, 0),
        PlanFacts(HOSTILE, "EUR", ((APRIL, 1),), 0, is_approved=True),
        DeferralFacts(HOSTILE, "EUR", 1, APRIL, is_approved=True),
        ChangeNoticeFacts("EMAIL", AT, HOSTILE),
        RejectionFacts(HOSTILE, is_plan=True, reason=HOSTILE),
        replace(ANSWER, reference_number=HOSTILE, reason=HOSTILE),
        CodeFacts(),
    ]
    for facts in hostile:
        notice = write(facts, language, name=HOSTILE)
        assert notice.subject is not None
        assert notice.subject.isprintable()
        html = str(notice.body_html).replace(f'<a class="button" href="{LINK}"', "")
        assert not re.search(r"<img|<a |<strong>b|<em>", html)
        if not isinstance(facts, CodeFacts):
            assert "**b** [l](https://e.example) {{ 0 }} {% x %}" in body(notice)
            assert "\nBcc" not in notice.body_text
    sms = write(CodeFacts(), language, "SMS", name=HOSTILE)
    assert "\n" not in sms.body_text


def test_every_template_belongs_to_a_kind() -> None:
    names = {f"{facts.template}.md" for facts in ALL} | {f"{each.template}.txt" for each in BY_SMS}
    # Templates that others include begin with an underscore.
    written = {path.name for path in NOTICE_TEMPLATES.iterdir() if not path.name.startswith("_")}
    assert written == names
