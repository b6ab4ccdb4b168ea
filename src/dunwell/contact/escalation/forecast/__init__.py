"""What a claim's workflow will do if nothing is paid."""
