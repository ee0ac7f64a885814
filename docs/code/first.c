/* first.c: counts its own runs. */
#include <foedus/foedus_c.h>

#include <stdint.h>
#include <stdio.h>

struct run {
  foedus_storage* runs;
  int64_t count;
};

static int count_run(foedus_txn* txn, void* argument, foedus_error* error) {
  struct run* run = argument;
  size_t bytes;
  int code = foedus_get(txn, run->runs, "first.c", 7, &run->count, sizeof(run->count), &bytes,
                        error);
  if (code == FOEDUS_NOT_FOUND) run->count = 0;
  else if (code != FOEDUS_OK) return code; /* a conflict, too: foedus_transact() tries again */
  ++run->count;
  return foedus_put(txn, run->runs, "first.c", 7, &run->count, sizeof(run->count), error);
}

int main(int argc, char** argv) {
  foedus_db* db = NULL;
  struct run run = {NULL, 0};
  foedus_error* error = foedus_error_new();
  int code = foedus_open(argc > 1 ? argv[1] : "first_db", NULL, &db, error);
  if (code == FOEDUS_OK) code = foedus_open_masstree(db, "runs", 4, &run.runs, error);
  if (code == FOEDUS_OK) code = foedus_transact(db, NULL, NULL, count_run, &run, error);
  if (code == FOEDUS_OK) code = foedus_wait_durable(db, FOEDUS_FOREVER, error); /* on the device */
  if (code == FOEDUS_OK) printf("run %d in C\n", (int)run.count); /* run 1 in C */
  else fprintf(stderr, "%s\n", foedus_error_message(error));
  foedus_storage_free(run.runs);
  foedus_db_free(db, NULL);
  foedus_error_free(error);
  return code != FOEDUS_OK;
}
