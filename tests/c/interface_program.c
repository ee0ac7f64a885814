// A program in C11 that uses each call of foedus_c.h, and ends with 1 at the first surprise. Its
// argument is the directory for the database; the backup is beside it.
#include <foedus/foedus_c.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static foedus_error* error;

// Ends the program if `condition` does not hold.
#define EXPECT(condition)                                                                         \
  do {                                                                                            \
    if (!(condition)) {                                                                           \
      fprintf(stderr, "line %d: %s; %s\n", __LINE__, #condition, foedus_error_message(error));    \
      exit(1);                                                                                    \
    }                                                                                             \
  } while (0)
#define OK(call) EXPECT((call) == FOEDUS_OK)

struct handles {
  foedus_db* db;
  foedus_storage *tree, *hash, *array, *events;
};

static void log_line(void* argument, int level, const char* line, size_t line_bytes) {
  EXPECT(level >= 0 && level <= 2 && line != NULL && line_bytes > 0);
  ++*(int*)argument;
}

static struct handles open_all(const char* dir, int* lines) {
  foedus_options* options = foedus_options_new();
  OK(foedus_options_set(options, "memory_bytes", "256MiB", error));
  OK(foedus_options_set(options, "glean.log_bytes", "16MiB", error));
  OK(foedus_options_set_log_sink(options, log_line, lines, error));
  struct handles h;
  OK(foedus_open(dir, options, &h.db, error));
  foedus_options_free(options);
  OK(foedus_wait_recovered(h.db, FOEDUS_FOREVER, error));
  OK(foedus_open_masstree(h.db, "tree", 4, &h.tree, error));
  OK(foedus_open_hash(h.db, "hash", 4, 100, &h.hash, error));
  OK(foedus_open_array(h.db, "array", 5, 10, 8, &h.array, error));
  OK(foedus_open_sequential(h.db, "events", 6, &h.events, error));
  return h;
}

static void free_all(struct handles* h) {
  foedus_storage_free(h->tree);
  foedus_storage_free(h->hash);
  foedus_storage_free(h->array);
  foedus_storage_free(h->events);
  OK(foedus_db_free(h->db, error));
}

// ---- errors and options

static void use_errors(void) {
  foedus_options* options = foedus_options_new();
  EXPECT(foedus_options_set(options, "memory", "1", error) == FOEDUS_INVALID_ARGUMENT);
  EXPECT(foedus_error_code(error) == FOEDUS_INVALID_ARGUMENT);
  EXPECT(strstr(foedus_error_message(error), "memory_bytes") != NULL);
  EXPECT(strncmp(foedus_error_hint(error), "there are ", 10) == 0);
  EXPECT(foedus_error_errno(error) == 0);
  EXPECT(foedus_error_reason(error)[0] == '\0');
  foedus_options_free(options);
  EXPECT(strcmp(foedus_code_name(FOEDUS_NOT_FOUND), "not_found") == 0);
  EXPECT(foedus_version()[0] >= '0' && foedus_version()[0] <= '9');
}

// ---- a transaction of the library

struct transfer {
  struct handles* h;
  int tries;
  int end;  // what the function returns
};

static int transfer(foedus_txn* txn, void* argument, foedus_error* e) {
  struct transfer* t = argument;
  ++t->tries;
  int64_t cents = 0;
  int code = foedus_array_get_for_update(txn, t->h->array, 3, &cents, sizeof(cents), e);
  if (code != FOEDUS_OK) return code;
  cents += 250;
  code = foedus_array_put(txn, t->h->array, 3, &cents, sizeof(cents), e);
  if (code != FOEDUS_OK) return code;
  code = foedus_put(txn, t->h->tree, "alice", 5, "250", 3, e);
  return code != FOEDUS_OK ? code : t->end;
}

static void count_durable(void* argument, int code) {
  if (code == FOEDUS_OK) ++*(int*)argument;
}

static void use_transact(struct handles* h) {
  foedus_txn_options* options = foedus_txn_options_new();
  OK(foedus_txn_options_set(options, "durability", "sync", error));
  foedus_ticket* ticket = foedus_ticket_new();
  struct transfer t = {h, 0, FOEDUS_OK};
  OK(foedus_transact(h->db, options, ticket, transfer, &t, error));
  EXPECT(t.tries == 1);
  EXPECT(foedus_ticket_epoch(ticket) != 0 && foedus_ticket_is_durable(ticket) == 1);
  OK(foedus_ticket_wait(ticket, FOEDUS_FOREVER, error));
  int calls = 0;
  OK(foedus_ticket_on_durable(ticket, count_durable, &calls, error));
  EXPECT(calls == 1);
  EXPECT(foedus_durable_epoch(h->db) >= foedus_ticket_epoch(ticket));

  t.end = FOEDUS_ROLLED_BACK;
  EXPECT(foedus_transact(h->db, NULL, NULL, transfer, &t, error) == FOEDUS_ROLLED_BACK);
  t.end = FOEDUS_APPLICATION + 7;
  EXPECT(foedus_transact(h->db, NULL, NULL, transfer, &t, error) == FOEDUS_APPLICATION + 7);
  foedus_ticket_free(ticket);
  foedus_txn_options_free(options);
}

// ---- one operation a transaction

static void use_autocommit(struct handles* h) {
  foedus_txn* each;
  OK(foedus_autocommit(h->db, NULL, &each, error));
  int64_t cents = 0;
  OK(foedus_array_get(each, h->array, 3, &cents, sizeof(cents), error));
  EXPECT(cents == 250);  // the two that were rolled back added nothing
  OK(foedus_array_increment(each, h->array, 3, 0, 5, error));
  OK(foedus_array_write_at(each, h->array, 4, 4, "wxyz", 4, error));
  char part[4];
  OK(foedus_array_read_at(each, h->array, 4, 6, part, 2, error));
  EXPECT(memcmp(part, "yz", 2) == 0);
  foedus_array_read reads[2] = {{3, 0, 0, &cents, sizeof(cents)}, {4, 4, 0, part, 4}};
  OK(foedus_array_get_many(each, h->array, reads, 2, error));
  EXPECT(cents == 255 && memcmp(part, "wxyz", 4) == 0);
  OK(foedus_array_prefetch(each, h->array, 1, error));

  OK(foedus_insert(each, h->hash, "k", 1, "12345678", 8, error));
  EXPECT(foedus_insert(each, h->hash, "k", 1, "", 0, error) == FOEDUS_ALREADY_EXISTS);
  EXPECT(strcmp(foedus_error_storage(error, NULL), "") != 0);
  size_t bytes = 0;
  EXPECT(memcmp(foedus_error_key(error, &bytes), "k", 1) == 0 && bytes == 1);
  OK(foedus_write_at(each, h->hash, "k", 1, 6, "ab", 2, error));
  char payload[8];
  OK(foedus_get(each, h->hash, "k", 1, payload, 4, &bytes, error));
  EXPECT(bytes == 8 && memcmp(payload, "1234", 4) == 0);
  OK(foedus_read_at(each, h->hash, "k", 1, 6, part, 2, error));
  EXPECT(memcmp(part, "ab", 2) == 0);
  OK(foedus_update(each, h->hash, "k", 1, "\1\0\0\0\0\0\0\0", 8, error));
  OK(foedus_increment(each, h->hash, "k", 1, 0, 41, error));
  void* copy = NULL;
  OK(foedus_get_copy(each, h->hash, "k", 1, &copy, &bytes, error));
  EXPECT(bytes == 8 && *(char*)copy == 42);
  foedus_free(copy);
  int found = 0;
  OK(foedus_contains(each, h->hash, "k", 1, &found, error));
  EXPECT(found == 1);
  foedus_read many[2] = {{"none", 4, payload, 8, 0, 7}, {"k", 1, payload, 8, 0, 0}};
  OK(foedus_get_many(each, h->hash, many, 2, error));
  EXPECT(many[0].found == 0 && many[1].found == 1 && many[1].payload_bytes == 8);
  OK(foedus_prefetch(each, h->hash, "k", 1, error));
  uint64_t erased = 7;
  OK(foedus_erase_range(each, h->tree, "x", 1, "y", 1, FOEDUS_NO_LIMIT, &erased, error));
  EXPECT(erased == 0);
  OK(foedus_erase(each, h->hash, "k", 1, error));
  EXPECT(foedus_get(each, h->hash, "k", 1, payload, 8, &bytes, error) == FOEDUS_NOT_FOUND);
  OK(foedus_append(each, h->events, "first", 5, error));
  foedus_autocommit_free(each);
}

// ---- sessions, scans, rows

static size_t add_row(char* rows, size_t at, const char* key, const char* payload) {
  const uint32_t sizes[2] = {(uint32_t)strlen(key), (uint32_t)strlen(payload)};
  memcpy(rows + at, sizes, sizeof(sizes));
  memcpy(rows + at + sizeof(sizes), key, sizes[0]);
  memcpy(rows + at + sizeof(sizes) + sizes[0], payload, sizes[1]);
  return at + sizeof(sizes) + sizes[0] + sizes[1];
}

static void use_scans(struct handles* h, foedus_txn* txn) {
  foedus_scan* scan;
  const void *key, *payload;
  size_t key_bytes, payload_bytes;
  OK(foedus_scan_range(txn, h->tree, "b", 1, "", 0, FOEDUS_REVERSE, FOEDUS_NO_LIMIT, &scan, error));
  OK(foedus_scan_next(scan, &key, &key_bytes, &payload, &payload_bytes, error));
  EXPECT(key_bytes == 4 && memcmp(key, "bob2", 4) == 0);
  EXPECT(payload_bytes == 2 && memcmp(payload, "22", 2) == 0);
  OK(foedus_scan_next(scan, NULL, NULL, NULL, NULL, error));
  EXPECT(foedus_scan_next(scan, NULL, NULL, NULL, NULL, error) == FOEDUS_END);
  foedus_scan_free(scan);

  OK(foedus_scan_prefix(txn, h->tree, "bob", 3, FOEDUS_FORWARD, 10, &scan, error));
  char rows[64];
  size_t bytes, count;
  EXPECT(foedus_scan_rows(scan, rows, 8, &bytes, &count, error) == FOEDUS_TOO_LARGE && bytes == 13);
  OK(foedus_scan_rows(scan, rows, sizeof(rows), &bytes, &count, error));
  EXPECT(count == 2 && bytes == 27);
  EXPECT(foedus_scan_rows(scan, rows, sizeof(rows), &bytes, &count, error) == FOEDUS_END);
  foedus_scan_free(scan);

  OK(foedus_scan_hash(txn, h->hash, FOEDUS_NO_LIMIT, &scan, error));
  EXPECT(foedus_scan_next(scan, NULL, NULL, NULL, NULL, error) == FOEDUS_END);
  foedus_scan_free(scan);
  OK(foedus_scan_sequential(txn, h->events, FOEDUS_NO_LIMIT, &scan, error));
  OK(foedus_scan_next(scan, NULL, &key_bytes, &payload, &payload_bytes, error));
  EXPECT(key_bytes == 0 && payload_bytes == 5 && memcmp(payload, "first", 5) == 0);
  foedus_scan_free(scan);
}

static void use_savepoints(struct handles* h, foedus_txn* txn) {
  foedus_savepoint outer, inner;
  OK(foedus_set_savepoint(txn, &outer, error));
  OK(foedus_put(txn, h->tree, "undone", 6, "", 0, error));
  OK(foedus_set_savepoint(txn, &inner, error));
  OK(foedus_release_savepoint(txn, &inner, error));
  EXPECT(foedus_rollback_to(txn, &inner, error) == FOEDUS_INVALID_ARGUMENT);
  EXPECT(foedus_set_savepoint(txn, NULL, error) == FOEDUS_INVALID_ARGUMENT);
  OK(foedus_rollback_to(txn, &outer, error));
  int found = 1;
  OK(foedus_contains(txn, h->tree, "undone", 6, &found, error));
  EXPECT(found == 0);
}

static void use_loads(struct handles* h) {
  foedus_load* load;
  foedus_storage* storage;
  char rows[64];
  size_t bytes = add_row(rows, 0, "a", "1");
  bytes = add_row(rows, bytes, "b", "2");
  size_t done = 9;
  OK(foedus_load_begin(h->db, "loaded", 6, &load, error));
  OK(foedus_load_rows(load, rows, bytes, &done, error));
  EXPECT(done == 2);
  EXPECT(foedus_load_rows(load, rows, bytes, &done, error) == FOEDUS_INVALID_ARGUMENT);
  EXPECT(done == 0);
  EXPECT(foedus_load_rows(load, rows, 5, &done, error) == FOEDUS_INVALID_ARGUMENT);
  foedus_load* other;
  EXPECT(foedus_load_begin(h->db, "other", 5, &other, error) == FOEDUS_BUSY);
  EXPECT(other == NULL);
  EXPECT(foedus_load_finish(other, &storage, error) == FOEDUS_INVALID_ARGUMENT);
  OK(foedus_load_finish(load, &storage, error));
  foedus_load_free(load);
  foedus_load_free(NULL);
  EXPECT(foedus_storage_kind(storage) == FOEDUS_MASSTREE);
  foedus_storage_free(storage);
}

static void use_sessions(struct handles* h) {
  foedus_session* session;
  foedus_txn* txn;
  OK(foedus_session_new(h->db, &session, error));
  OK(foedus_begin(session, NULL, &txn, error));
  char rows[64];
  const size_t first = add_row(rows, 0, "bob1", "1");
  const size_t bytes = add_row(rows, first, "bob2", "22");
  size_t done = 0;
  OK(foedus_write_rows(txn, h->tree, FOEDUS_INSERT, rows, bytes, &done, error));
  EXPECT(done == 2);
  EXPECT(foedus_get_for_update(txn, h->tree, "none", 4, NULL, 0, NULL, error) == FOEDUS_NOT_FOUND);
  OK(foedus_verify(txn, error));
  use_savepoints(h, txn);
  foedus_ticket* ticket = foedus_ticket_new();
  OK(foedus_commit(txn, ticket, error));
  OK(foedus_ticket_wait(ticket, FOEDUS_FOREVER, error));
  foedus_ticket_free(ticket);

  OK(foedus_begin(session, NULL, &txn, error));
  use_scans(h, txn);
  OK(foedus_rollback(txn, error));
  OK(foedus_retry(session, NULL, &txn, error));
  OK(foedus_commit(txn, NULL, error));
  EXPECT(foedus_put(txn, h->tree, "late", 4, "", 0, error) == FOEDUS_CLOSED);
  foedus_session_free(session);
}

// ---- keys

static void use_keys(void) {
  foedus_key* key = foedus_key_new();
  foedus_key_add_signed(key, -5);
  foedus_key_add_unsigned(key, 7);
  foedus_key_add_double(key, 1.5);
  foedus_key_add_string(key, "Paris", 5);
  size_t bytes;
  const void* at_begin = foedus_key_bytes(key, &bytes);
  size_t at = 0, text_bytes = 0;
  int64_t number;
  uint64_t natural;
  double real;
  char* text;
  EXPECT(foedus_key_read_unsigned(at_begin, bytes, &at, &natural, error) ==
         FOEDUS_INVALID_ARGUMENT && at == 0);
  OK(foedus_key_read_signed(at_begin, bytes, &at, &number, error));
  OK(foedus_key_read_unsigned(at_begin, bytes, &at, &natural, error));
  OK(foedus_key_read_double(at_begin, bytes, &at, &real, error));
  OK(foedus_key_read_string(at_begin, bytes, &at, &text, &text_bytes, error));
  EXPECT(at == bytes && number == -5 && natural == 7 && real == 1.5);
  EXPECT(text_bytes == 5 && strcmp(text, "Paris") == 0);
  foedus_free(text);
  foedus_key_clear(key);
  foedus_key_add_string_prefix(key, "Par", 3);
  foedus_key_add_raw(key, "!", 1);
  EXPECT(memcmp(foedus_key_bytes(key, &bytes), "Par!", 4) == 0 && bytes == 4);
  foedus_key_free(key);
}

// ---- facts, gleans, the end

static void count_progress(void* argument, int stage, uint64_t done, uint64_t total) {
  EXPECT(stage >= 0 && stage <= 2 && done <= total + 1);
  ++*(int*)argument;
}

// Frees the text after a look whether it holds `part`.
static void expect_part(char* json, const char* part) {
  EXPECT(json != NULL && json[0] != '\0');
  if (strstr(json, part) == NULL) fprintf(stderr, "%s\n", json);
  EXPECT(strstr(json, part) != NULL);
  foedus_free(json);
}

static void use_facts(struct handles* h, const char* backup) {
  OK(foedus_wait_durable(h->db, FOEDUS_FOREVER, error));
  int calls = 0;
  char* json = NULL;
  OK(foedus_glean(h->db, count_progress, &calls, &json, error));
  expect_part(json, "\"records_read\":");
  EXPECT(calls > 0);
  OK(foedus_storages(h->db, &json, error));
  expect_part(json, "{\"id\":3,\"kind\":\"array\",\"name\":\"array\",\"records\":10,\"payload_bytes\":8}");
  OK(foedus_snapshots(h->db, &json, error));
  expect_part(json, "[{\"number\":1,");
  OK(foedus_stats(h->db, &json, error));
  expect_part(json, "\"commits\":");
  OK(foedus_stats(h->db, &json, error));
  expect_part(json, "\"transact_tries\":{\"count\":");
  OK(foedus_prometheus(h->db, &json, error));
  expect_part(json, "# TYPE foedus_commits_total counter\nfoedus_commits_total ");
  OK(foedus_effective_options(h->db, &json, error));
  expect_part(json, "\"memory_bytes\":268435456,\"durability\":\"async\"");
  EXPECT(foedus_reserve_memory(h->db, 1 << 20) > 0);
  EXPECT(foedus_storage_kind(h->array) == FOEDUS_ARRAY && foedus_storage_id(h->array) == 3);
  EXPECT(foedus_storage_records(h->array) == 10 && foedus_storage_payload_bytes(h->array) == 8);
  EXPECT(strcmp(foedus_storage_name(h->array, NULL), "array") == 0);
  OK(foedus_backup(h->db, backup, 0, FOEDUS_FOREVER, &json, error));
  expect_part(json, "\"files_kept\":0");
  EXPECT(foedus_backup(h->db, backup, 3, FOEDUS_FOREVER, NULL, error) == FOEDUS_INVALID_ARGUMENT);
  OK(foedus_drop_storage(h->db, "hash", 4, error));
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  error = foedus_error_new();
  int lines = 0;
  use_errors();
  use_keys();
  struct handles h = open_all(argv[1], &lines);
  use_transact(&h);
  use_autocommit(&h);
  use_sessions(&h);
  use_loads(&h);
  char backup[4096];
  snprintf(backup, sizeof(backup), "%s.backup", argv[1]);
  use_facts(&h, backup);
  OK(foedus_close(h.db, error));
  EXPECT(foedus_close(h.db, error) == FOEDUS_CLOSED);
  free_all(&h);
  EXPECT(lines > 0);

  h = open_all(argv[1], &lines);  // what was committed is there again
  foedus_txn* each;
  OK(foedus_autocommit(h.db, NULL, &each, error));
  char payload[8];
  size_t bytes;
  OK(foedus_get(each, h.tree, "bob2", 4, payload, sizeof(payload), &bytes, error));
  EXPECT(bytes == 2 && memcmp(payload, "22", 2) == 0);
  foedus_autocommit_free(each);
  free_all(&h);

  h = open_all(backup, &lines);  // and in the backup
  OK(foedus_autocommit(h.db, NULL, &each, error));
  OK(foedus_get(each, h.tree, "bob2", 4, payload, sizeof(payload), &bytes, error));
  foedus_autocommit_free(each);
  free_all(&h);
  foedus_error_free(error);
  puts("every call of the C interface did as its header says");
  return 0;
}
