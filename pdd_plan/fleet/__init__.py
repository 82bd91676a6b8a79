"""From a scenario to a planning problem, and what a candidate fleet does."""
