"""The look of the window: colour tokens, fonts, icons and the style sheet made from them."""
