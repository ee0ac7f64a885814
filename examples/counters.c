// Counters in C: four threads count words in one Master-Tree.
//
// foedus_transact() runs a function as a transaction, again after each conflict. What the function
// returns is what foedus_transact() returns: FOEDUS_OK commits, all else undoes its changes.

#include <foedus/foedus_c.h>

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct counters {
  foedus_db* db;
  foedus_storage* words;
};

struct addition {
  const foedus_storage* words;
  const char* word;
  int64_t count;
};

// Ends the program if a call failed; the error says what happened and what to do.
static int failed(int code, const foedus_error* error) {
  if (code == FOEDUS_OK) return 0;
  fprintf(stderr, "%s\n", foedus_error_message(error));
  return 1;
}

// Adds to the counter of a word, which is 0 if the word is new.
static int add(foedus_txn* txn, void* argument, foedus_error* error) {
  const struct addition* what = argument;
  int64_t count = 0;
  size_t bytes;
  int code = foedus_get(txn, what->words, what->word, strlen(what->word), &count, sizeof(count),
                        &bytes, error);
  if (code == FOEDUS_NOT_FOUND) count = 0;
  else if (code != FOEDUS_OK) return code;  // a conflict, too: the function will run again
  count += what->count;
  return foedus_put(txn, what->words, what->word, strlen(what->word), &count, sizeof(count), error);
}

static void* count_words(void* argument) {
  static const char* const kWords[] = {"lorem", "ipsum", "dolor", "sit"};
  const struct counters* counters = argument;
  foedus_error* error = foedus_error_new();  // one for each thread
  for (int i = 0; i < 1000; ++i) {
    struct addition one = {counters->words, kWords[i % 4], 1};
    if (failed(foedus_transact(counters->db, NULL, NULL, add, &one, error), error)) break;
  }
  foedus_error_free(error);
  return NULL;
}

// Prints all rows, in the order of their keys. Passed to foedus_transact(), too.
static int print(foedus_txn* txn, void* argument, foedus_error* error) {
  foedus_scan* scan;
  const void *word, *payload;
  size_t word_bytes, payload_bytes;
  int code = foedus_scan_range(txn, argument, NULL, 0, NULL, 0, FOEDUS_FORWARD, FOEDUS_NO_LIMIT,
                               &scan, error);
  if (code != FOEDUS_OK) return code;
  while ((code = foedus_scan_next(scan, &word, &word_bytes, &payload, &payload_bytes, error)) ==
         FOEDUS_OK) {
    int64_t count;
    memcpy(&count, payload, sizeof(count));
    printf("%.*s %lld\n", (int)word_bytes, (const char*)word, (long long)count);
  }
  foedus_scan_free(scan);
  return code == FOEDUS_END ? FOEDUS_OK : code;
}

int main(int argc, char** argv) {
  struct counters counters = {NULL, NULL};
  pthread_t threads[4];
  foedus_error* error = foedus_error_new();
  foedus_options* options = foedus_options_new();
  int bad = failed(foedus_options_set(options, "memory_bytes", "256MiB", error), error) ||
            failed(foedus_open(argc > 1 ? argv[1] : "counters", options, &counters.db, error), error);
  foedus_options_free(options);
  if (bad) return 1;
  (void)foedus_drop_storage(counters.db, "words", 5, NULL);  // that of the last run, if any
  if (failed(foedus_open_masstree(counters.db, "words", 5, &counters.words, error), error)) return 1;

  for (int i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, count_words, &counters);
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);

  bad = failed(foedus_transact(counters.db, NULL, NULL, print, counters.words, error), error);
  foedus_storage_free(counters.words);
  bad |= failed(foedus_db_free(counters.db, error), error);  // all commits are durable now
  foedus_error_free(error);
  return bad;
}

// prints:
//   dolor 1000
//   ipsum 1000
//   lorem 1000
//   sit 1000
