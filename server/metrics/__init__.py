"""The metrics that this process sends to a monitoring system at ``/metrics``."""
