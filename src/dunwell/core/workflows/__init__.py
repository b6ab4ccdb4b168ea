"""Definitions and their versions: what a process is."""
