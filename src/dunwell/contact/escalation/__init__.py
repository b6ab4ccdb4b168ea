"""The schedule (pure), the engine that runs due steps in sets, and the sending of contacts."""
