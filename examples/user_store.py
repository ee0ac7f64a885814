"""The users of a web site: rows as JSON, and a second table that finds a user by e-mail.

A storage is a mapping. What is written to it outside of a transaction is a transaction of its own;
a function with @db.transactional makes several reads and writes one, and runs again if another
thread was in its way.
"""

import sys

import foedus

db = foedus.open(sys.argv[1] if len(sys.argv) > 1 else "user_store", memory_bytes="256MiB")
# Codecs turn keys and values to bytes. Keys of several columns sort as tuples do.
users = db.masstree("users", key=(str, int), value=foedus.json)  # by city and number
by_email = db.hash("by_email", key=str, value=foedus.json)       # the key in `users`


@db.transactional(durability="sync")  # on the device before it returns
def register(txn, city, number, name, email):
    """Adds a user, or nobody if the e-mail is taken."""
    owner = txn[by_email].get(email)
    if owner not in (None, [city, number]):
        raise foedus.Rollback  # undoes all; the call returns None
    txn[by_email][email] = [city, number]
    txn[users][city, number] = {"name": name, "email": email, "visits": 0}
    return number


@db.transactional
def visit(txn, email):
    """Counts a visit, and returns the user."""
    key = tuple(txn[by_email][email])
    user = txn[users][key]
    user["visits"] += 1
    txn[users][key] = user
    return user


def main():
    for user in (("Paris", 1, "Ada", "ada@example.org"), ("Parma", 2, "Bob", "bob@example.org"),
                 ("Rome", 3, "Eve", "eve@example.org"), ("Rome", 4, "Mal", "ada@example.org")):
        print("registered:", register(*user))
    visit("eve@example.org")
    print(visit("eve@example.org"))
    try:
        visit("nobody@example.org")
    except KeyError as missing:
        print("no such user:", missing)
    print("in Par...:", [user["name"] for user in users.values(prefix=("Par",))])
    print("last by city:", next(users.keys(reverse=True, limit=1)))
    with db.snapshot() as snap:  # one state of all tables, beside writers
        print("users:", sum(1 for _ in snap[users].keys()))


main()
db.close()

# prints:
#   registered: 1
#   registered: 2
#   registered: 3
#   registered: None
#   {'name': 'Eve', 'email': 'eve@example.org', 'visits': 2}
#   no such user: 'nobody@example.org'
#   in Par...: ['Ada', 'Bob']
#   last by city: ('Rome', 3)
#   users: 3
