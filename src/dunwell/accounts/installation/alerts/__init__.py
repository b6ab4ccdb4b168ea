"""Alerts of the installation: when one begins and ends, who is notified, and how they
are stored.
"""
