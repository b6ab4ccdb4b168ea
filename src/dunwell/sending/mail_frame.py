"""What an e-mail may do where a page shows it in a frame: look as it does, and nothing else.
Pure."""

import hashlib
import re
from base64 import b64encode

_STYLE = re.compile(r"<style>(.*?)</style>", re.DOTALL)


def render_frame_policy(html: str) -> str:
    """Nothing but what the message itself brings: style blocks, each named by its hash, what stands
    inline, and its picture. (A Content-Security-Policy.)"""
    digests = [hashlib.sha256(style.encode()).digest() for style in _STYLE.findall(html)]
    styles = " ".join(f"'sha256-{b64encode(digest).decode()}'" for digest in digests) or "'none'"
    return (
        f"default-src 'none'; style-src-elem {styles}; style-src-attr 'unsafe-inline'; "
        "img-src data:; frame-ancestors 'self'; sandbox"
    )
