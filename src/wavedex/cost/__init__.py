"""What a plan writes and what it takes."""
