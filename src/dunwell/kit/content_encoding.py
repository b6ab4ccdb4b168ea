"""What a client accepts of a body's encodings (RFC 9110, 12.5.3). Pure."""


def accepts_gzip(accept_encoding: str) -> bool:
    """Return whether the header names gzip, and not only to refuse it with a quality of zero."""
    for offered in accept_encoding.split(","):
        coding, _, parameters = offered.partition(";")
        if coding.strip().lower() == "gzip":
            name, _, quality = parameters.partition("=")
            return not (name.strip().lower() == "q" and not quality.strip().strip("0."))
    return False
