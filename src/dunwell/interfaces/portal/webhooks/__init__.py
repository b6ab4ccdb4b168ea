"""Webhook endpoints: how they are doing, what they were sent, and what can be done about it."""
