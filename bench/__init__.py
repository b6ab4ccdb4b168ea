"""Figures measured beside their references, in one run on one machine: `python -m bench`."""
