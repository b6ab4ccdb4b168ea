"""Rendering of the portal's pages: URLs, templates, labels and charts."""
