"""Payment modalities: payment plans and deferrals, from the request to their end."""
