"""The parts of a node that job code touches while it runs."""
