"""Requests, answers and what every page of the debtor shares."""
