"""The one rule for the characters that a text may hold, as patterns for declared types. Pure.

Refused are control characters, which are those of Unicode's category Cc: U+0000 to U+001F and
U+007F to U+009F. They cannot be shown, and a printer, a mail program or a terminal may act on them.
A text of several lines may hold line breaks and tabs.
"""

import re

# "(?!\n)" because "$" alone would let one line break pass at the end.
LINE = r"^[^\x00-\x1f\x7f-\x9f]*$(?!\n)"
LINES = r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]*$"
PLAIN_TEXT = "a text without control characters"
PLAIN_LINES = "a text without control characters other than line breaks and tabs"
# What a fault says was expected, by the pattern (`platform.text.shape`).
WORDS = {LINE: PLAIN_TEXT, LINES: PLAIN_LINES}
LINE_BREAKS = "\n\r\t"
# What `LINES` refuses, and half a surrogate pair, which UTF-8 cannot hold and no JSON body brings.
UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
