"""DDB14x and DDB15x: what must hold inside one verify step, from a step trace."""
