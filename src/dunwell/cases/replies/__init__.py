"""Debtors' replies to our messages: stored with the claim until a member of staff has read them."""
