"""Results that stay apart: cores with the numbers, and a shell that says how the result is made of them."""
