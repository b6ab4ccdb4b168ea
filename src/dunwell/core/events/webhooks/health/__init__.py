"""How webhook endpoints are doing, and the metrics of their deliveries."""
