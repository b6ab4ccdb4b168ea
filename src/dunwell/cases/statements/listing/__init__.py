"""The lists of bank statements, their lines and open transactions."""
