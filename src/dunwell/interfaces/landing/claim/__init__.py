"""The claim's page, its documents, staying on and leaving."""
