"""The matrix of tools: programs, the rows they make, and the page that shows them."""
