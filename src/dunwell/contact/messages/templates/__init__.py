"""Templates: placeholders, their values, Markdown, and the rendering and checking of messages."""
