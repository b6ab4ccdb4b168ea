"""The commands about users of the portal."""
