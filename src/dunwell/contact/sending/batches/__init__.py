"""Batches: letters wait in a print service's folder until a manifest names them, and only what a
manifest names is printed. What the service says of them is read back from status files."""
