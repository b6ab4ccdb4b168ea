"""What happens to a claim, from its intake to its payment, and the rollout of workflows."""
