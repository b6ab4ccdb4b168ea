"""Event types and bodies, the outbox, webhook endpoints and the delivery of events to them."""
