"""Delivery reports and queries of channels, and their effect on contacts and notices."""
