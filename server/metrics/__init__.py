"""What this process tells a monitoring system at ``/metrics``."""
