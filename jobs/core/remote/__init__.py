"""Rules of attempts that executors hand to engines outside of their node."""
