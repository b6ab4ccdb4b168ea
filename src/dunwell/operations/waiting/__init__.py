"""What waits for a person, over all parts of the business."""
