print("Packages downloaded.")
