"""Sign-in: who stands behind a request, how people prove it in a browser, and the end of streams without rights."""
