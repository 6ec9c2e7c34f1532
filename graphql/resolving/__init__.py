"""Give resolvers the context of an operation, its loaders, and turns in the event loop."""
