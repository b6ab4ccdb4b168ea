"""Debtors' replies to our messages: stored with the claim, and listed until staff have read
them."""
