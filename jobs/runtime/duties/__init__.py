"""What a node does again and again beside its runs, whichever node looks first."""
