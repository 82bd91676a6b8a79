"""What the user wrote: schema, loader with file and line, cross checks, overrides."""
