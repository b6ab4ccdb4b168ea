"""How the portal's pages are made of what they show: templates, words, charts."""
