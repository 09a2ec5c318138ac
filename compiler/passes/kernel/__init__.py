"""From kernel sources to IR that is bound to its target: elaboration, then one file a pass, named after it."""
