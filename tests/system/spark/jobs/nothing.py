print("The packages are there.")
