"""Overviews for staff: a merchant at a glance, delivery providers, and print batches."""
