"""Rendering of the portal's pages: addresses, templates, labels and charts."""
