"""Events over time, and memory over launches."""
