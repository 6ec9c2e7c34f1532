"""How a database is kept, for the doctor: what is not as the tables want it, who holds it up, how much room is left."""
