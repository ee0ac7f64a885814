// A directory with other things in place of the files of a database. Goal: each is refused by name,
// soon, and no file outside of the directory is written. Method: each file of a database is
// replaced by links, folders, pipes, sockets and device nodes, and the database is opened.
// ctest-labels: memory
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include "tests/testing/test_database.h"

namespace foedus::hostile_entries_test {
namespace {

using testing::must;
namespace fs = std::filesystem;

constexpr int kKeys = 100;

std::string bytes_of(const fs::path& path) {
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return bytes.str();
}

// A replacement of a file. `outside` is a file with the same bytes, elsewhere. Returns false if it
// cannot be made here.
struct Impostor {
  const char* name;
  std::function<bool(const fs::path& outside, const fs::path& place)> make;
};

bool make_socket(const fs::path& place) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, place.c_str(), sizeof(address.sun_path) - 1);
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  const bool is_made = bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  close(fd);
  return is_made;
}

const Impostor kImpostors[] = {
    {"a symbolic link",
     [](const fs::path& outside, const fs::path& place) {
       fs::create_symlink(outside, place);
       return true;
     }},
    {"a link that leads nowhere",
     [](const fs::path&, const fs::path& place) {
       fs::create_symlink("nowhere", place);
       return true;
     }},
    {"a folder", [](const fs::path&, const fs::path& place) { return create_directory(place); }},
    {"a pipe",
     [](const fs::path&, const fs::path& place) { return mkfifo(place.c_str(), 0644) == 0; }},
    {"a socket", [](const fs::path&, const fs::path& place) { return make_socket(place); }},
    {"a device node",  // as /dev/zero is
     [](const fs::path&, const fs::path& place) {
       return mknod(place.c_str(), S_IFCHR | 0644, makedev(1, 5)) == 0;
     }},
};

class HostileEntriesTest : public ::testing::Test {
 protected:
  HostileEntriesTest() {
    const fs::path root = root_.path();
    Database database = must(Database::open(options_of(root / "db")));
    const Masstree table = must(database.open_masstree("table"));
    const auto put = [&](char fill) {
      must(database.transact([&](Txn& txn) -> Status {
        for (int i = 0; i < kKeys; ++i) {
          FOEDUS_CHECK(txn.put(table, key(i), std::string(50, fill)));
        }
        return {};
      }));
    };
    put('a');
    must(database.glean());
    put('b');
    must(database.close());
    for (const auto& entry : fs::directory_iterator(root / "db")) {
      names_.push_back(entry.path().filename());
    }
  }

  static Options options_of(const fs::path& dir) {
    Options options = testing::small_options(dir);
    options.memory_bytes = 64u << 20;
    options.sessions_max = 2;
    return options;
  }
  // Opens the database, reads all rows and closes it.
  static Status use(const fs::path& dir) {
    FOEDUS_TRY(Database database, Database::open(options_of(dir)));
    FOEDUS_TRY(const Masstree table, database.open_masstree("table"));
    for (const auto isolation : {Isolation::kSnapshot, Isolation::kSerializable}) {
      FOEDUS_CHECK(database.transact(
          [&](Txn& txn) -> Status {
            for (int i = 0; i < kKeys; ++i) FOEDUS_CHECK(txn.get(table, key(i)).status());
            return {};
          },
          {.isolation = isolation, .newest_existing = isolation == Isolation::kSnapshot}));
    }
    return database.close();
  }

  testing::TestDirectory root_;
  std::vector<std::string> names_;
};

TEST_F(HostileEntriesTest, what_is_no_file_is_refused_by_name_and_not_followed) {
  const fs::path root = root_.path();
  ASSERT_GE(names_.size(), 5u);  // lock, savepoint, segment, manifest, snapshot
  for (const Impostor& impostor : kImpostors) {
    for (const std::string& name : names_) {
      SCOPED_TRACE(std::string(impostor.name) + " in place of " + name);
      fs::copy(root / "db", root / "hostile", fs::copy_options::recursive);
      const std::string before = bytes_of(root / "hostile" / name);
      fs::rename(root / "hostile" / name, root / "outside");
      if (impostor.make(root / "outside", root / "hostile" / name)) {
        const Status status = use(root / "hostile");
        EXPECT_FALSE(status.is_ok());
        EXPECT_NE(status.message().find(name), std::string::npos) << status.message();
      }
      EXPECT_EQ(bytes_of(root / "outside"), before);
      fs::remove_all(root / "hostile");
      fs::remove(root / "outside");
    }
  }
}

// A hard link is a file, so its bytes are good, but a write to it would change a file elsewhere,
// too.
TEST_F(HostileEntriesTest, a_file_of_another_directory_is_never_written) {
  const fs::path root = root_.path();
  for (const std::string& name : names_) {
    SCOPED_TRACE(name);
    fs::copy(root / "db", root / "hostile", fs::copy_options::recursive);
    const std::string before = bytes_of(root / "hostile" / name);
    fs::create_hard_link(root / "hostile" / name, root / "outside");
    const Status status = use(root / "hostile");
    const bool is_written = name == "foedus.lock" || name == "savepoint";
    EXPECT_FALSE(status.is_ok() && is_written);
    EXPECT_TRUE(status.is_ok() || status.message().find(name) != status.message().npos)
        << status.message();
    EXPECT_EQ(bytes_of(root / "outside"), before);
    fs::remove_all(root / "hostile");
    fs::remove(root / "outside");
  }
}

}  // namespace
}  // namespace foedus::hostile_entries_test
