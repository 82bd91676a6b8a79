"""Whole plans: planning, comparisons, sweeps and their explanations."""
