"""E-mail by SMTP through the operator's mail server."""
