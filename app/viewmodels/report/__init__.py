"""Reports as the preview shows them."""
