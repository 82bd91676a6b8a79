"""The cheapest fleet with a proof: tables, MILP, search. The only place that knows a solver."""
