"""Tasks as files: read, judged, written."""
