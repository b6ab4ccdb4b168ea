"""Disputing a claim: the reasons, the form with its files, and withdrawing a dispute."""
