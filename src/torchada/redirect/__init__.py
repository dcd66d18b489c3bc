"""HOW: patch records, the engine that applies and undoes them, and the means of redirection that areas build records from."""
