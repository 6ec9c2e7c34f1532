"""How HTTP comes in: sockets, protocols, routes and pages."""
