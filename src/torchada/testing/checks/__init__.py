"""The single checks, by subject. Each is a function that takes the Subject and raises Wrong where something is wrong."""
