"""Adapters of the channels by which messages are sent."""
