"""What games on boards share: grids and their notation, pictures."""
