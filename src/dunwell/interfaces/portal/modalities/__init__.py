"""Requests for payment plans and deferrals, and the responses to them."""
