"""A suite of checks for any function that compares two representations."""
