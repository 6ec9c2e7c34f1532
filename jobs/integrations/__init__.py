"""Ready-made hooks and resources for well-known libraries, one module each; import that whose library you have."""
