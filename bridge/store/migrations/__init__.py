"""The steps that bring a store of an older version to this one."""

#: The newest step; a test holds it to be what the migrations themselves say.
HEAD = "0007"
