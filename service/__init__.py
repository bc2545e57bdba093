"""Who asks and what they get back: the HTTP service, its job store, the client and the command line."""
