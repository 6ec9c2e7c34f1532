"""The process: configuration, application, command line."""
