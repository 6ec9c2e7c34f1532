"""What all of the API shares: errors and codes, enums, scalars, arguments, sizes and the rights that fields need."""
