"""How a figure is made: arguments and tables, the floor of bare writes, memory, pages, recordings."""
