"""The log of deliveries to an endpoint: the proof that nothing is missing, and replays."""
