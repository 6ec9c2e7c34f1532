"""Figures as GraphQL objects: statistics, groups of failures, the timeline."""
