"""What torchada 0.1 called things."""
