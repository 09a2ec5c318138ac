"""Text from a language model: tokens, the loop that makes them, and what it took. Without Qt."""
