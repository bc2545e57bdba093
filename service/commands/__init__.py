"""One module for each group of commands; none imports what only a service needs before it is run."""
