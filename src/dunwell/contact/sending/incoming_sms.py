"""An SMS that was sent to a delivery provider's number, and whether it asks to stop all messages.
Pure."""

import re
import unicodedata
from dataclasses import dataclass

# Words by which a recipient stops all messages, as networks and laws define them; without accents,
# in lower case, by language.
_STOP_WORDS = {
    "any": "stop stopall unsubscribe cancel end quit optout revoke",
    "bg": "спри",
    "cs": "stop odhlasit",
    "da": "afmeld stop",
    "de": "stopp abmelden abmeldung abbestellen",
    "el": "διακοπη",
    "es": "baja alto parar",
    "fi": "lopeta peruuta",
    "fr": "arret arreter desabonner desinscrire",
    "hr": "odjava",
    "hu": "leiratkozas leiratkozom",
    "it": "ferma cancella disiscrivi basta",
    "nb": "avslutt avmeld",
    "nl": "afmelden stoppen",
    "pl": "rezygnuje wypisz",
    "pt": "sair cancelar parar",
    "ro": "dezabonare oprire",
    "ru": "стоп отписаться",
    "sk": "odhlasit",
    "sl": "odjava",
    "sv": "avsluta avregistrera sluta",
    "tr": "iptal dur ret",
    "uk": "стоп",
}
_ALL_STOP_WORDS = frozenset(word for words in _STOP_WORDS.values() for word in words.split())
# The most words of a request to stop, such as "STOP bitte" or "stop sms now". A longer text is a
# sentence, for an operator to read.
_MAX_WORDS = 3
_WORD = re.compile(r"[^\W\d_]+")
_NUMBER = re.compile(r"^(?:00|\+)?([1-9][0-9]{6,14})$")


@dataclass(frozen=True, slots=True)
class ReceivedSms:
    provider: str
    # The gateway's id of the message; duplicates are ignored.
    provider_message_id: str
    # The sender's number and the number that it was sent to, unchanged.
    sender: str
    recipient: str
    text: str


def is_stop_request(text: str) -> bool:
    """Return whether the text asks to stop all messages."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    letters = (character for character in plain if not unicodedata.combining(character))
    words = _WORD.findall("".join(letters))
    return 0 < len(words) <= _MAX_WORDS and words[0] in _ALL_STOP_WORDS


def parse_number(text: str) -> str | None:
    """Return the number in international format, or None for a name or a short number."""
    match = _NUMBER.match(text.strip())
    return f"+{match[1]}" if match else None
