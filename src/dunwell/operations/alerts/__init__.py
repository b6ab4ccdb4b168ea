"""Looks for what needs a person, over all merchants and lines, and tells the operator by e-mail."""
