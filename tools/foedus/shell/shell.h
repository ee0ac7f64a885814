#pragma once
// Shell: the commands that a line-oriented shell runs on an open database.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "foedus/database.h"
#include "tools/foedus/data/data_command.h"

namespace foedus::cli {

class Shell {
 public:
  Shell(Database* db, ByteForm form, Console* console) : db_(db), form_(form), console_(console) {}

  // Runs a line. A failure has changed nothing but what its message says; the shell goes on.
  Status run(std::string_view line);
  bool has_quit() const { return has_quit_; }
  // "foedus(accounts)*> " within a transaction on the storage accounts.
  std::string prompt() const;
  // Returns the words that may follow `before`: names of commands, or of storages.
  std::vector<std::string> complete(std::string_view before) const;
  // Rolls back an open transaction. Returns true if there was one.
  bool end();

 private:
  using Words = std::vector<std::string>;
  struct ShellVerb {
    std::string_view name;
    std::string_view arguments;
    std::string_view about;
    std::size_t words_min;  // of arguments
    std::size_t words_max;
    Status (Shell::*run)(const Words& words);
  };
  static const ShellVerb kVerbs[];

  Status use(const Words& words);
  Status create(const Words& words);
  Status storages(const Words& words);
  Status get(const Words& words);
  Status put(const Words& words);
  Status append(const Words& words);
  Status erase(const Words& words);
  Status scan(const Words& words);
  Status begin(const Words& words);
  Status commit(const Words& words);
  Status rollback(const Words& words);
  Status glean(const Words& words);
  Status stats(const Words& words);
  Status explain(const Words& words);
  Status help(const Words& words);
  Status quit(const Words& words);

  Result<const AnyStorage*> used() const;
  // Runs `operation` in the open transaction, or in one of its own.
  template <typename Operation>
  auto in_transaction(const Operation& operation, bool is_snapshot = false)
      -> decltype(operation(std::declval<Txn&>()));

  Database* const db_;
  const ByteForm form_;
  Console* const console_;
  std::optional<AnyStorage> storage_;
  std::optional<Session> session_;  // from the first begin on
  std::optional<Txn> txn_;          // the open transaction
  bool has_quit_ = false;
};

}  // namespace foedus::cli
