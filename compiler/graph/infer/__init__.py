"""The rule of each op: its result types from its operand types and attributes. Pure functions over types, no IR."""
