"""What job code touches while it runs."""
