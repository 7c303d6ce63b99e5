"""What stewards write down of data, and how it is brought together with what others wrote elsewhere."""
