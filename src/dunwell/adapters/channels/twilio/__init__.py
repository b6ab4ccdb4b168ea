"""SMS through Twilio, or a provider that speaks its dialect."""
