"""Delivery reports: joined with the messages they are about, and asked for."""
