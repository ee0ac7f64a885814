#pragma once
// Runs the commands of `foedus` that open a database, with an input and outputs in memory.

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <utility>

#include "tests/testing/test_database.h"
#include "tools/foedus/data/data_command.h"

namespace foedus::cli {

struct Reply {
  ExitStatus status{};
  std::string out;
  std::string err;
};

inline DataCommand command_on(DataVerb verb, const std::string& dir) {
  DataCommand command;
  command.verb = verb;
  command.directories.dir = dir;
  command.options = {"memory_bytes=64MiB"};
  return command;
}

inline Reply reply_to(const DataCommand& command, const std::string& input = {}) {
  std::istringstream in(input);
  std::ostringstream out;
  std::ostringstream err;
  Console console{&in, &out, &err};
  const ExitStatus status = run(command, &console);
  return {status, out.str(), err.str()};
}

// Commands on the database in a directory.
class DataRig {
 public:
  explicit DataRig(std::string dir) : dir_(std::move(dir)) {}

  DataCommand command(DataVerb verb) const { return command_on(verb, dir_); }
  Reply get(const std::string& storage, const std::string& key) const {
    DataCommand get = command(DataVerb::kGet);
    get.storage = storage;
    get.key = key;
    return reply_to(get);
  }
  Reply erase(const std::string& storage, const std::string& key) const {
    DataCommand erase = command(DataVerb::kErase);
    erase.storage = storage;
    erase.key = key;
    return reply_to(erase);
  }
  Reply put(const std::string& storage, const std::string& key, const std::string& value,
            const std::string& create = {}) const {
    DataCommand put = command(DataVerb::kPut);
    put.storage = storage;
    put.key = key;
    put.value = value;
    put.create = create;
    return reply_to(put);
  }
  Reply append(const std::string& storage, const std::string& value,
               const std::string& create = {}) const {
    DataCommand append = command(DataVerb::kAppend);
    append.storage = storage;
    append.value = value;
    append.create = create;
    return reply_to(append);
  }
  Reply scan(const std::string& storage, const RangeText& range = {}) const {
    DataCommand scan = command(DataVerb::kScan);
    scan.storage = storage;
    scan.range = range;
    return reply_to(scan);
  }
  Reply dump(const std::string& format) const {
    DataCommand dump = command(DataVerb::kDump);
    dump.format = format;
    return reply_to(dump);
  }
  Reply load(const std::string& bytes, bool is_merge = false) const {
    DataCommand load = command(DataVerb::kLoad);
    load.is_merge = is_merge;
    return reply_to(load, bytes);
  }
  Reply shell(const std::string& script) const {
    return reply_to(command(DataVerb::kShell), script);
  }
  const std::string& dir() const { return dir_; }

 private:
  const std::string dir_;
};

}  // namespace foedus::cli
