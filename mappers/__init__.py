"""Pure translation between the languages of lineage: data in, data out."""
