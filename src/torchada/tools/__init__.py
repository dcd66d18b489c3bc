"""Tools for people: check, doctor, verify and bench, over one runner of processes that may crash or hang."""
