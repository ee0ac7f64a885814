// The commands dump and load: round trips in all formats, and damage to a dump.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tests/tools/foedus/cli_rig.h"
#include "tests/tools/foedus/data_rig.h"
#include "tools/foedus/dump/binary_format.h"

namespace foedus::cli::dump_load_test {
namespace {

constexpr const char* kFormats[] = {"jsonl", "csv", "binary"};

class DumpLoadTest : public ::testing::Test {
 protected:
  // A few rows of each kind, with bytes that are no text.
  void write_rows() {
    Database db = testing::must(Database::open(testing::small_options(source_.dir())));
    const Masstree tree = testing::must(db.open_masstree("tree"));
    const Array array = testing::must(db.open_array("array", 100, 3));
    const Sequential list = testing::must(db.open_sequential("li,st \xff"));
    testing::must(db.open_masstree("empty"));
    testing::must(db.transact([&](Txn& txn) -> Status {
      for (int i = 0; i < 256; ++i) {
        const std::string byte(1, static_cast<char>(i));
        FOEDUS_CHECK(txn.put(tree, "k" + byte, byte + "\",\\" + byte));
        FOEDUS_CHECK(txn.append(list, byte + std::to_string(i)));
      }
      FOEDUS_CHECK(txn.put(tree, "", ""));
      FOEDUS_CHECK(txn.put(tree, "large", std::string(400'000, 'x')));
      FOEDUS_CHECK(txn.put(tree, "text", "ünï \U0001f600 \u2028"));
      return txn.put(array, 42, std::string_view("a\0c", 3));
    }));
    testing::must(db.close());
  }
  static void expect_damaged(const Reply& reply, const std::string& text) {
    EXPECT_EQ(static_cast<int>(reply.status), 1) << reply.err;
    EXPECT_NE(reply.err.find("the dump is damaged at "), reply.err.npos) << reply.err;
    EXPECT_NE(reply.err.find(text), reply.err.npos) << reply.err << " lacks " << text;
  }
  // Loads into a database of its own.
  Reply load(const std::string& bytes) {
    return DataRig(directory_.path() + "/copy" + std::to_string(copies_++)).load(bytes);
  }

  testing::TestDirectory directory_;
  DataRig source_{directory_.path() + "/source"};
  int copies_ = 0;
};

TEST_F(DumpLoadTest, each_format_gives_back_every_row) {
  write_rows();
  for (const char* const format : kFormats) {
    const Reply dumped = source_.dump(format);
    ASSERT_EQ(dumped.status, ExitStatus::kFine) << dumped.err;
    const DataRig copy(directory_.path() + "/" + format);
    const Reply loaded = copy.load(dumped.out);
    EXPECT_EQ(loaded.status, ExitStatus::kFine) << loaded.err;
    EXPECT_EQ(loaded.out, "loaded 615 rows of 4 storages\n");
    for (const char* const other : kFormats) {
      EXPECT_TRUE(copy.dump(other).out == source_.dump(other).out) << format << " " << other;
    }
  }
}

// A large database of all kinds, from a snapshot and from the log.
TEST_F(DumpLoadTest, a_written_and_gleaned_database_gives_back_every_row) {
  CliRig written;
  written.write(0, 3'000);
  written.glean();
  written.write(1, 3'000);
  const DataRig from(written.dir());
  const Reply dumped = from.dump("binary");
  ASSERT_EQ(dumped.status, ExitStatus::kFine) << dumped.err;
  const DataRig copy(directory_.path() + "/copy");
  const Reply loaded = copy.load(dumped.out);
  EXPECT_EQ(loaded.status, ExitStatus::kFine) << loaded.err;
  EXPECT_TRUE(copy.dump("binary").out == dumped.out);
  const std::size_t rows = written.model().tree.size() + kArrayRecords + written.model().appended +
                           written.model().hash.size();
  EXPECT_TRUE(loaded.out.starts_with("loaded " + std::to_string(rows) + " rows")) << loaded.out;
}

TEST_F(DumpLoadTest, a_hash_storage_is_loaded) {
  const DataRig copy(directory_.path() + "/copy");
  EXPECT_EQ(copy.load("{\"foedus_dump\":1}\n{\"storage\":\"h\",\"kind\":\"hash\"}\n"
                      "{\"key\":\"k\",\"value\":\"v\"}\n{\"storages\":1,\"rows\":1}\n")
                .status,
            ExitStatus::kFine);
  EXPECT_EQ(copy.get("h", "k").out, "v\n");
}

TEST_F(DumpLoadTest, some_storages_are_dumped_in_the_order_asked_for) {
  write_rows();
  DataCommand dump = source_.command(DataVerb::kDump);
  dump.storages = {"empty", "array"};
  const Reply reply = reply_to(dump);
  EXPECT_TRUE(
      reply.out.starts_with("{\"foedus_dump\":1}\n{\"storage\":\"empty\",\"kind\":"
                            "\"masstree\"}\n{\"storage\":\"array\",\"kind\":\"array\","
                            "\"records\":100,\"payload_bytes\":3}\n"))
      << reply.out;
  dump.storages = {"none"};
  EXPECT_NE(reply_to(dump).err.find("no storage \"none\""), std::string::npos);
}

TEST_F(DumpLoadTest, files_are_written_and_read) {
  write_rows();
  DataCommand dump = source_.command(DataVerb::kDump);
  dump.file = directory_.path() + "/dump";
  dump.format = "csv";
  EXPECT_EQ(reply_to(dump).status, ExitStatus::kFine);
  DataCommand load = command_on(DataVerb::kLoad, directory_.path() + "/copy");
  load.file = dump.file;
  EXPECT_EQ(reply_to(load).status, ExitStatus::kFine);
  load.file = directory_.path() + "/none";
  EXPECT_NE(reply_to(load).err.find("cannot open the file"), std::string::npos);
  dump.file = "/dev/full";
  const Reply full = reply_to(dump);
  EXPECT_EQ(full.status, ExitStatus::kCannotRead);
  EXPECT_NE(full.err.find("the device is full"), full.err.npos) << full.err;
  dump.format = "xml";
  EXPECT_NE(reply_to(dump).err.find("jsonl, csv or binary"), std::string::npos);
}

TEST_F(DumpLoadTest, a_storage_that_exists_is_loaded_only_by_merge) {
  write_rows();
  const std::string dumped = source_.dump("csv").out;
  const DataRig copy(directory_.path() + "/copy");
  ASSERT_EQ(copy.put("tree", "mine", "1", "masstree").status, ExitStatus::kFine);
  const Reply refused = copy.load(dumped);
  EXPECT_EQ(refused.status, ExitStatus::kCannotRead);
  EXPECT_NE(refused.err.find("has a storage \"tree\"; --merge"), refused.err.npos) << refused.err;
  const Reply merged = DataRig(copy.dir()).load(dumped, true);
  EXPECT_EQ(merged.status, ExitStatus::kFine) << merged.err;
  EXPECT_EQ(copy.get("tree", "mine").out, "1\n");
  EXPECT_EQ(copy.get("tree", "text").out, source_.get("tree", "text").out);
  // An array of another shape stays as it is.
  const Reply other = copy.load("foedus_dump,1\nstorage,array,array:7:3\nend,1,0\n", true);
  EXPECT_EQ(other.status, ExitStatus::kCannotRead);
  EXPECT_NE(other.err.find("array"), other.err.npos) << other.err;
}

// ---- damage

// Goal: no changed byte of a binary dump is taken for a row, and the message names the block.
// Method: a byte of each header and payload of each block, one at a time.
TEST_F(DumpLoadTest, a_damaged_block_is_named) {
  write_rows();
  const std::string dumped = source_.dump("binary").out;
  std::size_t blocks = 0;
  for (std::size_t at = sizeof(BinaryDumpHeader); at < dumped.size(); ++blocks) {
    BlockHeader header;
    std::memcpy(&header, dumped.data() + at, sizeof(header));
    EXPECT_EQ(header.number, blocks);
    const std::string place =
        "offset " + std::to_string(at) + " (block " + std::to_string(blocks) + ")";
    const std::size_t end = at + sizeof(header) + header.payload_bytes;
    for (const std::size_t changed : {at, at + 8, at + 16, at + 20, at + sizeof(header), end - 1}) {
      std::string damaged = dumped;
      damaged[changed] = static_cast<char>(damaged[changed] ^ 1);
      expect_damaged(load(damaged), place);
    }
    expect_damaged(load(dumped.substr(0, at)), place);
    expect_damaged(load(dumped.substr(0, at + 10)), place);
    expect_damaged(load(dumped.substr(0, end - 1)), place);
    expect_damaged(load(dumped.substr(0, at) + dumped.substr(end)),
                   end == dumped.size() ? place : "offset ");  // the block is missing
    at = end;
  }
  EXPECT_GE(blocks, 8u);
  for (const std::size_t byte : {0, 9, 13}) {
    std::string damaged = dumped;
    damaged[byte] = static_cast<char>(damaged[byte] ^ 1);
    const DataRig none(directory_.path() + "/none");
    EXPECT_EQ(static_cast<int>(none.load(damaged).status), 1);
    EXPECT_FALSE(std::filesystem::exists(none.dir()));
  }
  expect_damaged(load(dumped + "x"), "bytes follow the end");
}

// Blocks whose checksums are right and whose contents are not.
TEST_F(DumpLoadTest, a_forged_block_is_refused) {
  BinaryDumpHeader begin;
  begin.crc = crc_of(begin);
  const auto dump_of = [&](BlockKind kind, std::uint32_t rows, const std::string& payload) {
    BlockHeader header{static_cast<std::uint32_t>(kind), static_cast<std::uint32_t>(payload.size()),
                       0, rows, 0};
    header.crc = crc_of(header, payload.data());
    std::string bytes(reinterpret_cast<const char*>(&begin), sizeof(begin));
    return bytes.append(reinterpret_cast<const char*>(&header), sizeof(header)).append(payload);
  };
  expect_damaged(load(dump_of(BlockKind{9}, 0, "")), "no block of kind 9");
  expect_damaged(load(dump_of(BlockKind::kStorage, 0, "short")), "the wrong size");
  expect_damaged(load(dump_of(BlockKind::kStorage, 0, std::string(16, '\x07'))), "of kind ");
  expect_damaged(load(dump_of(BlockKind::kRows, 0, "")), "a block of rows has none");
  expect_damaged(load(dump_of(BlockKind::kRows, 1, "1234")), "reaches beyond");
  expect_damaged(load(dump_of(BlockKind::kRows, 1, std::string(8, '\x7f'))), "reaches beyond");
  expect_damaged(load(dump_of(BlockKind::kRows, 1, std::string(8, '\0'))), "before the first");
  expect_damaged(load(dump_of(BlockKind::kEnd, 0, std::string(16, '\1'))), "the end counts");
  expect_damaged(load(dump_of(BlockKind::kEnd, 0, std::string(17, '\0'))), "the wrong size");
}

TEST_F(DumpLoadTest, a_dump_that_is_cut_is_damaged_wherever) {
  write_rows();
  for (const char* const format : {"jsonl", "csv"}) {
    const std::string dumped = source_.dump(format).out;
    std::size_t line = 0;
    for (std::size_t at = 0; at < dumped.size(); at = dumped.find('\n', at) + 1) {
      line += 1;
      if (line % 97 != 2 && at < dumped.size() - 100) continue;
      const std::string place = "line " + std::to_string(line);
      expect_damaged(load(dumped.substr(0, at)), place);
      expect_damaged(load(dumped.substr(0, at + 1)), place);
      expect_damaged(load(dumped.substr(0, dumped.find('\n', at))), place);
    }
    expect_damaged(load(dumped + "\n"), "a line follows the end");
  }
}

TEST_F(DumpLoadTest, a_wrong_line_is_named) {
  const std::string jsonl = "{\"foedus_dump\":1}\n{\"storage\":\"t\",\"kind\":\"masstree\"}\n";
  const std::string array =
      "{\"foedus_dump\":1}\n{\"storage\":\"a\",\"kind\":\"array\",\"records\":2,"
      "\"payload_bytes\":1}\n";
  const std::string csv = "foedus_dump,1\nstorage,t,masstree\n";
  for (const auto& [bytes, text] : std::initializer_list<std::pair<std::string, std::string>>{
           {jsonl + "{\"key\":\"k\"}\n", "line 3: the object is neither"},
           {jsonl + "{\"value\":\"v\"}\n", "line 3: the row has no key"},
           {jsonl + "{\"key\":1,\"value\":\"v\"}\n", "line 3: the row has no key"},
           {jsonl + "{\"key\":\"k\",\"value\":\"v\"\n", "column "},
           {jsonl + "{\"key\":\"\\ud800\",\"value\":\"v\"}\n", "surrogate"},
           {jsonl + "{\"key\":\"\\q\",\"value\":\"v\"}\n", "no escape of JSON"},
           {jsonl + "{\"key\":\"\xff\",\"value\":\"v\"}\n", "not text"},
           {jsonl + "{\"key\":{\"hex\":\"0\"},\"value\":\"v\"}\n", "two hexadecimal digits"},
           {jsonl + "{\"key\":\"k\",\"key\":\"k\",\"value\":\"v\"}\n", "a second member key"},
           {jsonl + "{\"key\":\"k\",\"value\":\"v\"} {}\n", "more than one object"},
           {jsonl + "{\"storages\":1,\"rows\":1}\n", "the end counts 1 storages and 1 rows"},
           {jsonl + jsonl.substr(jsonl.find('\n') + 1), "\"t\" comes twice"},
           {array + "{\"index\":2,\"value\":\"v\"}\n", "has no record 2"},
           {array + "{\"index\":1,\"value\":\"vv\"}\n", "has 2 bytes, not 1"},
           {array + "{\"key\":\"1\",\"value\":\"v\"}\n", "has an index"},
           {"{\"foedus_dump\":1}\n{\"storage\":\"t\",\"kind\":\"heap\"}\n", "a kind is masstree"},
           {"{\"other\":1}\n", "no dump as JSON lines"},
           {csv + "row,k\n", "line 3: a line has 3 fields, not 2"},
           {csv + "row,\"k,v\n", "no closing quote"},
           {csv + "row,\"k\"x,v\n", "a comma follows"},
           {csv + "row,k\",v\n", "a quote in a field"},
           {csv + "row,\\k,v\n", "after a backslash"},
           {csv + "rows,k,v\n", "begins with storage, row or end"},
           {csv + "end,1,none\n", "a decimal number"},
           {"foedus_dump,1\nrow,k,v\n", "before the first storage"},
           {"foedus\n", "no dump as CSV"}}) {
    expect_damaged(load(bytes), text);
  }
  EXPECT_NE(load("").err.find("does not begin as a dump does"), std::string::npos);
  EXPECT_NE(load("{\"foedus_dump\":2}\n").err.find("has version 2, not 1"), std::string::npos);
  EXPECT_NE(load("foedus_dump,2\n").err.find("has version 2, not 1"), std::string::npos);
}

TEST_F(DumpLoadTest, json_of_other_writers_is_loaded) {
  const DataRig copy(directory_.path() + "/copy");
  const Reply loaded = copy.load(
      "{ \"foedus_dump\" : 1 }\r\n{\"kind\":\"masstree\",\"storage\":\"t\"}\n"
      "{\"value\":\"\\ud83d\\ude00\\u00fc\\n\\/\",\t\"key\":{\"hex\":\"0xFF\"} }\n"
      "{\"rows\":1,\"storages\":1}\n");
  EXPECT_EQ(loaded.status, ExitStatus::kFine) << loaded.err;
  EXPECT_EQ(copy.scan("t").out, "\\xff\t😀ü\\x0a/\n");
}

// A new tree whose keys ascend keeps all rows before the damage. A hash keeps whole batches of 512.
TEST_F(DumpLoadTest, rows_before_the_damage_stay_and_are_counted) {
  for (const auto& [kind, rows] : {std::pair("masstree", 2000), std::pair("hash", 1536)}) {
    std::string dump = std::string("foedus_dump,1\nstorage,t,") + kind + "\n";
    for (int i = 10'000; i < 12'000; ++i) dump += "row," + std::to_string(i) + ",v\n";
    const DataRig copy(directory_.path() + "/copy of " + kind);
    const Reply reply = copy.load(dump + "row,x\n");
    expect_damaged(reply, "line 2003");
    EXPECT_NE(reply.err.find("before the failure " + std::to_string(rows) +
                             " rows of 1 storage were loaded, the last one \"t\"; they stay"),
              reply.err.npos)
        << reply.err;
    const Reply scanned = copy.scan("t");
    EXPECT_EQ(std::count(scanned.out.begin(), scanned.out.end(), '\n'), rows);
    EXPECT_EQ(copy.load(dump + "end,1,2000\n", true).status, ExitStatus::kFine);
  }
}

TEST_F(DumpLoadTest, rows_in_any_order_are_loaded_the_last_of_a_key_counts) {
  const DataRig copy(directory_.path() + "/copy");
  const Reply loaded = copy.load(
      "foedus_dump,1\nstorage,t,masstree\nrow,a,1\nrow,c,1\nrow,b,1\nrow,c,2\nrow,d,1\nend,1,5\n");
  EXPECT_EQ(loaded.status, ExitStatus::kFine) << loaded.err;
  EXPECT_NE(loaded.out.find("loaded 5 rows of 1 storage"), std::string::npos) << loaded.out;
  EXPECT_EQ(copy.scan("t").out, "a\t1\nb\t1\nc\t2\nd\t1\n");
}

TEST_F(DumpLoadTest, progress_has_rows_and_rate) {
  std::string dump = "foedus_dump,1\nstorage,t,sequential\n";
  for (int i = 0; i < 3'000; ++i) dump += "row,,v\n";
  std::istringstream in(dump + "end,1,3000\n");
  std::ostringstream out;
  std::ostringstream err;
  std::string last;
  Console console{&in, &out, &err, [&](std::string_view line) { last = line; }};
  EXPECT_EQ(run(command_on(DataVerb::kLoad, directory_.path() + "/copy"), &console),
            ExitStatus::kFine);
  EXPECT_TRUE(last.starts_with("loaded ") && last.ends_with(" rows/s")) << last;
}

}  // namespace
}  // namespace foedus::cli::dump_load_test
