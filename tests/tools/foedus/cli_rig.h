#pragma once
// A database of all four kinds, written through the public interface and gleaned, and the output of
// the program `foedus` for it.

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "gleaner/directory_glean.h"
#include "tests/testing/test_database.h"
#include "tools/foedus/commands.h"

namespace foedus::cli {

struct Answer {
  ExitStatus status{};
  std::string out;
  std::string err;

  bool says(std::string_view text) const { return out.find(text) != out.npos; }
};

inline Answer ask(const Command& command) {
  std::ostringstream out;
  std::ostringstream err;
  const ExitStatus status = run(command, &out, &err);
  return {status, out.str(), err.str()};
}

inline Answer ask(Verb verb, const std::string& dir) {
  Command command;
  command.verb = verb;
  command.directories.dir = dir;
  return ask(command);
}

// Returns name, bytes and time of last change of all files, and of the directory.
inline std::map<std::string, std::string> contents_of(const std::string& dir) {
  std::map<std::string, std::string> contents;
  const auto time_of = [](const std::string& path) {
    struct stat about {};
    EXPECT_EQ(::stat(path.c_str(), &about), 0) << path;
    return std::to_string(about.st_mtim.tv_sec) + "." + std::to_string(about.st_mtim.tv_nsec) +
           " " + std::to_string(about.st_ctim.tv_nsec) + " ";
  };
  contents["."] = time_of(dir);
  for (const auto& entry : std::filesystem::directory_iterator(dir)) {
    std::ifstream file(entry.path(), std::ios::binary);
    std::ostringstream bytes;
    bytes << file.rdbuf();
    contents[entry.path().filename()] = time_of(entry.path()) + bytes.str();
  }
  return contents;
}

// The contents of the storages.
struct Model {
  std::map<std::string, std::string> tree;
  std::map<std::string, std::string> hash;
  std::set<std::uint64_t> array;  // indexes that were written to
  std::uint64_t appended = 0;
};

inline constexpr std::uint64_t kArrayRecords = 20'000;
inline constexpr std::uint32_t kArrayPayloadBytes = 100;

class CliRig {
 public:
  const std::string& dir() const { return directory_.path(); }
  const Model& model() const { return model_; }
  std::string path_of(const std::string& name) const { return dir() + "/" + name; }

  // Overwrites, erases and adds rows; `records` is the number of keys to choose from.
  void write(std::uint32_t round, std::uint32_t records) {
    auto opened = Database::open(testing::small_options(dir()));
    ASSERT_TRUE(opened.is_ok()) << opened.status().message();
    Database& db = *opened;
    tree_ = testing::must(db.open_masstree("tree"));
    hash_ = testing::must(db.open_hash("hash"));
    array_ = testing::must(db.open_array("array", kArrayRecords, kArrayPayloadBytes));
    list_ = testing::must(db.open_sequential("list"));
    testing::must(db.open_masstree("empty \"one\"\xff"));
    constexpr std::uint32_t kBatch = 50;
    for (std::uint32_t begin = 0; begin < records; begin += kBatch) {
      testing::must(db.transact([&](Txn& txn) -> Status {
        for (std::uint32_t i = begin; i < std::min(begin + kBatch, records); ++i) {
          FOEDUS_CHECK(change(txn, round, i));
        }
        return {};
      }));
    }
    testing::must(db.close());
  }
  void glean() {
    gleaner::DirectoryGleanOptions options;
    options.reducers = 1;
    options.reducer_bytes = 16u << 20;
    options.snapshots_kept = 1'000;
    testing::must(gleaner::glean_directory(dir(), options));
  }

 private:
  // Returns keys of a few bytes, of one slice, of two layers and of many.
  static std::string key_of(std::uint32_t i) {
    const std::string number = std::to_string(std::uint64_t{i} * 7919 % 1'000'003);
    switch (i % 5) {
      case 0:
        return "a prefix of a few layers, and then " + number;
      case 1:
        return std::string(i % 70 == 1 ? 900 : 8, 'x') + number;
      default:
        return number;
    }
  }
  static std::string payload_of(std::uint32_t round, std::uint32_t i) {
    std::size_t bytes = (i * 31 + round) % 60;
    if (i % 97 == 0) bytes = 1500 + (i * 13 + round) % 9000;
    if (i == 5) bytes = 200'000;
    return std::string(bytes, static_cast<char>('a' + (i + round) % 26));
  }

  template <typename Table>
  Status change_key(Txn& txn, const Table& table, std::uint32_t round, std::uint32_t i,
                    std::map<std::string, std::string>* model) {
    const std::string key = key_of(i);
    const bool is_there = model->contains(key);
    if (is_there && i % 11 == round % 11) {
      FOEDUS_CHECK(txn.erase(table, key));
      model->erase(key);
    } else if (!is_there || i % 7 == round % 7) {
      std::string payload = payload_of(round, i);
      FOEDUS_CHECK(txn.put(table, key, payload));
      (*model)[key] = std::move(payload);
    }
    return {};
  }
  Status change(Txn& txn, std::uint32_t round, std::uint32_t i) {
    FOEDUS_CHECK(change_key(txn, tree_, round, i, &model_.tree));
    FOEDUS_CHECK(change_key(txn, hash_, round, i + 1, &model_.hash));
    const std::uint64_t index = (std::uint64_t{i} * 3 + round) % (kArrayRecords / 2);
    if (i % 3 == 0) {
      FOEDUS_CHECK(txn.put(array_, index, std::string(kArrayPayloadBytes, 'q')));
      model_.array.insert(index);
    }
    if (i % 4 == 0) {
      FOEDUS_CHECK(txn.append(list_, std::string(i % 800, 'l')));
      model_.appended += 1;
    }
    return {};
  }

  testing::TestDirectory directory_;
  Model model_;
  Masstree tree_;
  Hash hash_;
  Array array_;
  Sequential list_;
};

}  // namespace foedus::cli
