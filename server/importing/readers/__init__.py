"""What other programs are given: crontabs, units of systemd, Python sources."""
