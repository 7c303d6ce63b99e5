"""Runs the migrations on the connection that `bridge.store.schema` hands over."""

from alembic import context

from bridge.store.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    transactional_ddl=True,
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()
