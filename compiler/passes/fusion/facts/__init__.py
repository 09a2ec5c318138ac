"""What fusion decides by: read off definitions (`view_method`, `work`), or kept while groups grow (`spans`)."""
