"""What each piece of syntax means: source, statements, expressions, control flow, calls."""
