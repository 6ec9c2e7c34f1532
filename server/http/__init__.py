"""Take HTTP in: sockets, protocols, routes and pages."""
