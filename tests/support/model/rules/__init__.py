"""What the model decides: the rules of worlds, edges and statements, and what follows from them."""
