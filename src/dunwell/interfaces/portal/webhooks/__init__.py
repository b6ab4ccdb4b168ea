"""Pages of webhook endpoints: their health, their delivery log and the actions on them."""
