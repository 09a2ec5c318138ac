"""Small parts that many views are built from."""
