"""Paying in parts or later, a break, and what became of a request."""
