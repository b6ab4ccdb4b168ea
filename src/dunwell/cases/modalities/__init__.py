"""Payment modalities: plans and deferments, from the request to their end."""
