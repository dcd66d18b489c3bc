"""What several tests share: fresh interpreters, ranks, device code, programs, and what they are compared with."""
