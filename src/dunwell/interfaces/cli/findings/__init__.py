"""What `dunwell doctor` finds, part by part."""
