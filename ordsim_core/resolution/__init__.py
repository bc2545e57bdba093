"""What a deficit can tell: the precision of the stored values, the floors it sets, and a verdict in plain words."""
