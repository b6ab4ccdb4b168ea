"""Alerts of the installation: when one begins and ends, who is told, and their storage."""
