"""The commands of Django's command line."""
