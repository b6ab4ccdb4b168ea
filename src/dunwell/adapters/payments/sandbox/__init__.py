"""A payment provider without an outside system: its checkout page moves no money."""
