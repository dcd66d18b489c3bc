"""The single checks, by subject. Each is a function of what is checked, and raises Wrong where something is wrong."""
