"""Requests, answers and what every page of the portal shares."""
