"""Alerts: check what needs a person, over all merchants and providers, and send e-mails."""
