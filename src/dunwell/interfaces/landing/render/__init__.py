"""How pages are made of what they show: templates, formats, words."""
