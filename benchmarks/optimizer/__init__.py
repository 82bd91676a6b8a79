"""How long plans for random fleets of many sites take, and how far they are proven."""
