"""Rendering the pages: addresses, the creditor's details, colours and templates."""
