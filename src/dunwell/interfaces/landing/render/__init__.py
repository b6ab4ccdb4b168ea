"""Rendering the pages: addresses, the creditor's details, colors, form fields and templates."""
