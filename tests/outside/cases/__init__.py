"""`python -m outside cases FOLDER`: small programs, each with a head that says what CUDA gives."""
