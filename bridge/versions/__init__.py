"""Dataset versions: publish, pin, resolve, roll back, invalidate; registered definitions."""
