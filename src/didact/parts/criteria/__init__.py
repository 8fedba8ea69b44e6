"""Split criteria of trees."""
