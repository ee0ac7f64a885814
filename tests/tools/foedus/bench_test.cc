// The command bench: each run counts its operations and what it found, and errors name the cure.
#include <string>
#include <vector>

#include "tests/tools/foedus/data_rig.h"
#include "tools/foedus/bench/runs.h"

namespace foedus::cli::bench_test {
namespace {

class BenchTest : public ::testing::Test {
 protected:
  DataCommand bench(const std::vector<std::string>& runs, std::uint64_t rows = 2'000) const {
    DataCommand command = command_on(DataVerb::kBench, directory_.path());
    command.runs = runs;
    command.bench.rows = rows;
    command.is_json = true;
    return command;
  }
  // Returns the JSON of one run: "operations":2000,"found":2000
  static std::string counts(std::uint64_t operations, std::uint64_t found) {
    return "\"operations\":" + std::to_string(operations) + ",\"found\":" + std::to_string(found);
  }
  static bool has(const Reply& reply, const std::string& text) {
    return reply.out.find(text) != std::string::npos;
  }

  testing::TestDirectory directory_;
};

TEST_F(BenchTest, rows_that_are_filled_in_are_found_and_erased) {
  const Reply reply =
      reply_to(bench({"fillseq", "readrandom", "overwrite", "readseq", "deleteseq"}));
  EXPECT_EQ(reply.status, ExitStatus::kFine) << reply.err;
  for (const char* const name : {"fillseq", "readrandom", "overwrite", "readseq", "deleteseq"}) {
    EXPECT_TRUE(has(reply, "\"name\":\"" + std::string(name) + "\"," + counts(2'000, 2'000)))
        << reply.out;
  }
  EXPECT_TRUE(has(reply_to(bench({"readrandom"})), counts(2'000, 0)));  // the rows are gone
  EXPECT_TRUE(has(reply_to(bench({"readseq"})), counts(0, 0)));
}

TEST_F(BenchTest, threads_share_the_rows_and_batches_have_the_rest) {
  DataCommand command = bench({"fillseq", "readseq", "deleteseq"}, 1'001);
  command.bench.threads = 3;
  command.bench.batch = 7;
  const Reply reply = reply_to(command);
  for (const char* const name : {"fillseq", "readseq", "deleteseq"}) {
    EXPECT_TRUE(has(reply, std::string(name) + "\"," + counts(1'001, 1'001))) << reply.out;
  }
}

TEST_F(BenchTest, readseq_reads_more_rows_than_one_transaction_does) {
  EXPECT_TRUE(
      has(reply_to(bench({"fillseq", "readseq"}, 20'000)), "readseq\"," + counts(20'000, 20'000)));
}

TEST_F(BenchTest, operations_of_the_writer_beside_reads_do_not_count) {
  const Reply reply = reply_to(bench({"fillseq", "readwhilewriting"}));
  EXPECT_TRUE(has(reply, "readwhilewriting\"," + counts(2'000, 2'000))) << reply.out;
}

TEST_F(BenchTest, random_keys_of_two_runs_differ) {
  const Reply reply = reply_to(bench({"fillrandom", "readrandom"}));
  EXPECT_TRUE(has(reply, "fillrandom\"," + counts(2'000, 2'000)));
  EXPECT_FALSE(has(reply, "readrandom\"," + counts(2'000, 2'000))) << reply.out;
  EXPECT_FALSE(has(reply, "readrandom\"," + counts(2'000, 0))) << reply.out;
}

TEST_F(BenchTest, a_hash_storage_has_all_runs_but_readseq) {
  DataCommand command = bench({"fillrandom", "readrandom", "deleterandom", "fillsync"}, 500);
  command.kind = "hash";
  EXPECT_EQ(reply_to(command).status, ExitStatus::kFine);
  command.runs = {"readseq"};
  EXPECT_NE(reply_to(command).err.find("readseq needs --kind masstree"), std::string::npos);
  command.kind = "array";
  EXPECT_NE(reply_to(command).err.find("--kind is masstree or hash"), std::string::npos);
  EXPECT_NE(reply_to(bench({"fillseq"})).err.find("it is a hash"), std::string::npos);
}

TEST_F(BenchTest, lines_have_times_and_rates) {
  DataCommand command = bench({"fillseq", "readrandom"});
  command.is_json = false;
  const Reply reply = reply_to(command);
  EXPECT_EQ(reply.out.find("fillseq "), 0u);
  EXPECT_TRUE(has(reply, "us/op") && has(reply, "ops/s") && has(reply, "MB/s")) << reply.out;
  EXPECT_FALSE(has(reply, "found"));  // all were
}

TEST_F(BenchTest, a_value_out_of_range_is_named_before_the_database_is_made) {
  DataCommand command = bench({"fillseq", "fillsquare"});
  EXPECT_NE(reply_to(command).err.find("no run \"fillsquare\"; there are: fillseq"),
            std::string::npos);
  const auto refused = [&](const std::string& option, const auto& set) {
    DataCommand wrong = bench({"fillseq"});
    set(&wrong.bench);
    const Reply reply = reply_to(wrong);
    EXPECT_EQ(reply.status, ExitStatus::kCannotRead);
    EXPECT_NE(reply.err.find(option), std::string::npos) << reply.err;
  };
  refused("--rows", [](BenchSetup* setup) { setup->rows = 0; });
  refused("--key-bytes", [](BenchSetup* setup) { setup->key_bytes = 3; });
  refused("--key-bytes has too few digits", [](BenchSetup* setup) {
    setup->key_bytes = 4;
    setup->rows = 10'001;
  });
  refused("--value-bytes", [](BenchSetup* setup) { setup->value_bytes = 5u << 20; });
  refused("--threads", [](BenchSetup* setup) { setup->threads = 0; });
  refused("--batch", [](BenchSetup* setup) { setup->batch = 10'001; });
  command = bench({"readseq"}, 10'000);
  command.bench.key_bytes = 4;
  EXPECT_EQ(reply_to(command).status, ExitStatus::kFine);  // 4 digits are enough
}

}  // namespace
}  // namespace foedus::cli::bench_test
