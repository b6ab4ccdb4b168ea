"""SMS through a Kannel gateway."""
