"""Share errors and codes, enums, scalars, arguments, sizes and the rights that fields need."""
