"""Payments through the payments API of Mollie."""
