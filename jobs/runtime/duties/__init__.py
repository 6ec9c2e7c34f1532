"""What a node does again and again in addition to its runs, whichever node looks first."""
