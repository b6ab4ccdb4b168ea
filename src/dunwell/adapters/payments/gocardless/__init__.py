"""Payments through the billing requests of GoCardless."""
