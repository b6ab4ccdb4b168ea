"""Mandates at payment providers, and the debits that these collect."""
