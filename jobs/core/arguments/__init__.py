"""Arguments of jobs: judge them by the job's JSON Schema, and name each version of it by a short word."""
