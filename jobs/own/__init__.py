"""The threads of this product, and the fate of its parts in a forked process."""
