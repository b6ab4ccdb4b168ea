"""Text and values from outside: their characters, shapes, codes and documents."""
