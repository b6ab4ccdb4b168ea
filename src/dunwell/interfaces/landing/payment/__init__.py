"""Paying: the amount, the payment method, the hand-off to a provider, and the receipt."""
