"""Payments through Stripe Checkout."""
