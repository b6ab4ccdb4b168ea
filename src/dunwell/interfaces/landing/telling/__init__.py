"""The messages a debtor gets of what was done on the pages."""
