"""E-mail by SMTP: a line's messages handed to the operator's mail server."""
