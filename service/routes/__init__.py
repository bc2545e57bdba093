"""The paths of the service, a module for each kind of resource."""
