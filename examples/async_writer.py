"""Sensors that report to an asyncio server: a reading is acknowledged once no crash can undo it.

A commit is visible at once, and durable some milliseconds later. A ticket of the commit can be
awaited. Many tasks wait together, and the device is asked once for all of them.
"""

import asyncio
import sys

import foedus

db = foedus.open(sys.argv[1] if len(sys.argv) > 1 else "async_writer", memory_bytes="256MiB")
readings = db.masstree("readings", key=(str, int), value="<d")  # sensor and second: a double
totals = db.hash("totals", key=str, value="<q")                 # sensor: number of readings


def store(txn, sensor, second, value):
    """Stores a reading, and counts it, in one transaction."""
    if (sensor, second) not in txn[readings]:
        txn[totals][sensor] = txn[totals].get(sensor, 0) + 1
    txn[readings][sensor, second] = value


async def handle(sensor, second, value):
    """What a server would do with one message; returns the acknowledgement."""
    ticket = foedus.Ticket()
    db.transact(store, sensor, second, value, ticket=ticket)  # microseconds
    await ticket                                              # other tasks run meanwhile
    return ticket.durable


async def main():
    acknowledged = await asyncio.gather(
        *(handle(sensor, second, second * 0.5)
          for second in range(100) for sensor in ("cellar", "roof")))
    print("acknowledged:", sum(acknowledged))


asyncio.run(main())
print("roof:", totals["roof"], "readings")
print("seconds 3 and 4:", list(readings.items(low=("roof", 3), high=("roof", 5))))
db.close()

# prints:
#   acknowledged: 200
#   roof: 100 readings
#   seconds 3 and 4: [(('roof', 3), 1.5), (('roof', 4), 2.0)]
