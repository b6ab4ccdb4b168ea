"""A message somebody wrote to a line by SMS, and whether it says that no more are wanted. Pure."""

import re
import unicodedata
from dataclasses import dataclass

# What networks and laws know as such, without accents, in small letters, by language.
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
_ALL = frozenset(word for words in _STOP_WORDS.values() for word in words.split())
# "STOP bitte", "stop sms now": more is a sentence, for a person to read.
_MOST_WORDS = 3
_WORD = re.compile(r"[^\W\d_]+")
_WRITTEN_OTHERWISE = re.compile(r"^(?:00|\+)?([1-9][0-9]{6,14})$")


@dataclass(frozen=True, slots=True)
class Incoming:
    line: str
    # The gateway's own id of it; what comes twice is one.
    provider_id: str
    # Who wrote, and to which number of ours; as they came.
    sender: str
    recipient: str
    text: str


def is_stop(text: str) -> bool:
    plain = unicodedata.normalize("NFKD", text.casefold())
    words = _WORD.findall("".join(each for each in plain if not unicodedata.combining(each)))
    return 0 < len(words) <= _MOST_WORDS and words[0] in _ALL


def read_number(text: str) -> str | None:
    """In international format; None: it is a name, or a short number."""
    found = _WRITTEN_OTHERWISE.match(text.strip())
    return f"+{found[1]}" if found else None
