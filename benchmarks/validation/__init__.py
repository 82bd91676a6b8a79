"""What the model predicts beside what simulation, replayed traces and publications show."""
