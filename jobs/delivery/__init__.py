"""Alarms and the notifications about them: durable readers of the event log, and senders that retry."""
