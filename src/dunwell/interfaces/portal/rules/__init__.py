"""The pages of assignment rules: what decides which workflow a new claim gets, and its draft."""
