"""What the simulator is built with: torch's headers and libraries, the compiler, the private folder for what was built."""
