"""Calls: inputs lead to a plan by their shapes and types, and the plan to results."""
