"""The threads of this product, and what becomes of its parts in a process that was forked."""
