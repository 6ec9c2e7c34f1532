"""The ways into the GraphQL API: POST, Server-Sent Events and WebSocket, with one set of checks for all."""
