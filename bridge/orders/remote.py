"""Tells a running service what else the registry of a store would be told."""

from typing import TypeVar

import msgspec

from bridge.catalogue.remote import read_answer
from bridge.orders.order import Order
from connectors.openlineage.http import EventClient

A = TypeVar("A")


def order_of_service(client: EventClient, order: Order[A]) -> A:
    """Have a service do an order that has a body; raises what the registry would raise, and Unreachable."""
    answer = client.post(order.path, msgspec.json.encode(order))
    kind: type[A] = order.answer
    return read_answer(client.url, order.path, answer, kind)
