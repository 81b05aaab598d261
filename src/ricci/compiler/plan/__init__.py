"""What is computed, step by step: programs, the loops in them, and the tables that show them."""
