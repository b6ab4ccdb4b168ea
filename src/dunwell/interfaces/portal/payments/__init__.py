"""Payments and what debtors have begun to pay; taking a payment back."""
