"""The health of webhook endpoints, and the metrics of deliveries."""
