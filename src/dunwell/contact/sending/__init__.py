"""Sending: the port to channels and delivery providers, the sender of all queues, delivery reports,
and received SMS."""
