// Where a cache lies, who may write there, and what is made with which mode.
#include "cache/cache_path.hpp"

#include <doctest/doctest.h>

#include <cstdlib>

#include "tests/unit/cache/cache_test.hpp"

using namespace qrow;
using namespace qrow::test;

namespace {

unsigned mode_of(const std::string& path) {
  struct stat info {};
  REQUIRE(::stat(path.c_str(), &info) == 0);
  return info.st_mode & 07777;
}

constexpr uid_t kNobody = 65534;

bool become_nobody() { return ::setgid(kNobody) == 0 && ::setuid(kNobody) == 0; }

}  // namespace

TEST_CASE(
    "a folder or a path that ends in a slash holds a file with the format number, any other path "
    "is the file") {
  const Folder folder;
  CHECK(resolve_cache_path(folder.path()) == folder.path() + "/qrow-1.sqlite");
  CHECK(resolve_cache_path(folder.path() + "/") == folder.path() + "/qrow-1.sqlite");
  CHECK(resolve_cache_path("/nowhere/new/") == "/nowhere/new/qrow-1.sqlite");
  CHECK(resolve_cache_path("/nowhere/file") == "/nowhere/file");
  CHECK(resolve_cache_path("file.sqlite") == "file.sqlite");
}

TEST_CASE(
    "without a path the environment says where the cache lies, then the user's cache folder") {
  CHECK(in_child([] {
          ::setenv("QROW_CACHE", "/nowhere/a.sqlite", 1);
          if (resolve_cache_path("") != "/nowhere/a.sqlite" || resolve_cache_path("b") != "b")
            return 1;
          ::unsetenv("QROW_CACHE");
          ::setenv("XDG_CACHE_HOME", "/nowhere/xdg", 1);
          if (resolve_cache_path("") != "/nowhere/xdg/qrow/qrow-1.sqlite") return 2;
          ::unsetenv("XDG_CACHE_HOME");
          ::setenv("HOME", "/nowhere/home", 1);
          return resolve_cache_path("") == "/nowhere/home/.cache/qrow/qrow-1.sqlite" ? 0 : 3;
        }) == 0);
}

TEST_CASE(
    "with an empty environment a store works or says why it does not, and a missing folder is "
    "made") {
  const Folder folder;
  CHECK(in_child([&] {
          ::clearenv();
          ::setenv("HOME", (folder.path() + "/home").c_str(), 1);
          auto store = open_store("");
          if (!store->available() || !store->put(sample_row(1), nullptr)) return 1;
          return store->path() == folder.path() + "/home/.cache/qrow/qrow-1.sqlite" ? 0 : 2;
        }) == 0);
  CHECK(mode_of(folder.path() + "/home/.cache/qrow") == 0700);
  CHECK(in_child([] {
          ::clearenv();  // the password file still knows a home
          auto store = open_store("");
          return store->available() || !store->unavailable_reason().empty() ? 0 : 1;
        }) == 0);
}

TEST_CASE("what is made is for its owner alone, whatever the umask") {
  for (const mode_t mask : {mode_t{0}, mode_t{022}, mode_t{077}, mode_t{0277}}) {
    const Folder folder;
    CHECK(in_child([&] {
            ::umask(mask);
            auto store = open_store(folder.file());
            if (!store->put(sample_row(1), nullptr)) return 1;
            for (const char* side : {"", "-wal", "-shm"}) {
              struct stat info {};
              if (::stat((folder.file() + side).c_str(), &info) != 0 ||
                  (info.st_mode & 07777) != 0600)
                return 2;
            }
            return 0;
          }) == 0);
    CHECK(mode_of(folder.file() + ".locks") == 0700);
  }
}

TEST_CASE("a folder that others may write is refused, with the reason, and nothing is made in it") {
  for (const mode_t mode : {mode_t{0777}, mode_t{0770}, mode_t{0702}}) {
    const Folder folder;
    REQUIRE(::chmod(folder.path().c_str(), mode) == 0);
    Recorder recorder;
    auto store = open_store(folder.file(), recorder.log());
    CHECK_FALSE(store->available());
    CHECK(contains(store->unavailable_reason(), "may be written by others"));
    CHECK(contains(store->unavailable_reason(), "chmod go-w"));
    CHECK(warned_once(recorder, "kernels are kept in memory only"));
    CHECK(std::filesystem::is_empty(folder.path()));
  }
}

TEST_CASE("a sticky folder of root is allowed, as nobody else can replace our files there") {
  const Folder folder;
  REQUIRE(::chmod(folder.path().c_str(), 01777) == 0);
  CHECK(open_store(folder.file())->available());
}

TEST_CASE("a file, a log or a lock folder that others may write is refused") {
  const Folder folder;
  REQUIRE(open_store(folder.file())->put(sample_row(1), nullptr));
  REQUIRE(::chmod(folder.file().c_str(), 0660) == 0);
  CHECK(contains(open_store(folder.file())->unavailable_reason(),
                 "may be written by others (mode 0660)"));
  REQUIRE(::chmod(folder.file().c_str(), 0600) == 0);
  write_bytes(folder.file() + "-wal", "");
  REQUIRE(::chmod((folder.file() + "-wal").c_str(), 0666) == 0);
  CHECK(contains(open_store(folder.file())->unavailable_reason(), "-wal"));
  std::filesystem::remove(folder.file() + "-wal");
  REQUIRE(::chmod((folder.file() + ".locks").c_str(), 0777) == 0);
  auto store = open_store(folder.file());
  CHECK(store->available());  // what is there can still be read
  CHECK(has(*store, sample_row(1)));
  std::string reason;
  CHECK_FALSE(store->put(sample_row(2), &reason));
  CHECK(contains(reason, ".locks' is not a folder that only you can write"));
}

TEST_CASE("a file that is a symbolic link is refused, a folder behind a link is not") {
  const Folder folder;
  std::filesystem::create_directory(folder.path() + "/real");
  std::filesystem::create_symlink(folder.path() + "/elsewhere", folder.file());
  auto refused = open_store(folder.file());
  CHECK_FALSE(refused->available());
  CHECK(contains(refused->unavailable_reason(), "is a symbolic link"));
  CHECK_FALSE(std::filesystem::exists(folder.path() + "/elsewhere"));

  std::filesystem::create_directory_symlink(folder.path() + "/real", folder.path() + "/link");
  auto store = open_store(folder.path() + "/link/");
  CHECK(store->put(sample_row(1), nullptr));
  CHECK(store->path() == folder.path() + "/real/qrow-1.sqlite");
}

TEST_CASE("another user's folder and file are refused") {
  if (::geteuid() != 0) {
    MESSAGE("checked with mode bits alone: only root can give files away");
    CHECK_FALSE(open_store("/cache.sqlite")->available());
    return;
  }
  const Folder folder;
  REQUIRE(::chown(folder.path().c_str(), kNobody, kNobody) == 0);
  CHECK(contains(open_store(folder.file())->unavailable_reason(),
                 "belongs to user 65534, not to you (user 0)"));
  REQUIRE(::chown(folder.path().c_str(), 0, 0) == 0);
  write_bytes(folder.file(), "");
  REQUIRE(::chown(folder.file().c_str(), kNobody, kNobody) == 0);
  CHECK(contains(open_store(folder.file())->unavailable_reason(), "belongs to user 65534"));
}

// In a child that is not root (who may write everywhere), on a folder without the right to write.
TEST_CASE(
    "a folder that cannot be written serves what is in it, else kernels stay in memory, each said "
    "once") {
  const Folder folder;
  const bool root = ::geteuid() == 0;
  const std::string full = folder.path() + "/full", bare = folder.path() + "/bare";
  std::filesystem::create_directory(full);
  std::filesystem::create_directory(bare);
  REQUIRE(open_store(full + "/")->put(sample_row(1), nullptr));
  REQUIRE(::chmod((full + "/qrow-1.sqlite").c_str(), 0644) == 0);
  for (const std::string& path : {full, bare}) REQUIRE(::chmod(path.c_str(), 0555) == 0);
  REQUIRE(::chmod(folder.path().c_str(), 0755) == 0);
  CHECK(in_child([&] {
          if (root && !become_nobody()) return 1;
          Recorder recorder;
          auto store = open_store(full, recorder.log());
          if (!store->available() || !has(*store, sample_row(1))) return 2;
          std::string reason;
          if (store->put(sample_row(2), &reason) || !contains(reason, "cannot be written"))
            return 3;
          if (!store->lock_folder().empty()) return 4;
          return warned_once(recorder, "it is only read") && recorder.warnings().size() == 1 ? 0
                                                                                             : 5;
        }) == 0);
  CHECK(in_child([&] {
          if (root && !become_nobody()) return 1;
          Recorder recorder;
          auto store = open_store(bare, recorder.log());
          if (store->available() || store->put(sample_row(2), nullptr)) return 2;
          if (!contains(store->unavailable_reason(), "cannot be written")) return 3;
          if (!store->find(sample_row(1).key, sample_row(1).key_text).empty()) return 4;
          return warned_once(recorder, "memory only") && recorder.warnings().size() == 1 ? 0 : 5;
        }) == 0);
  for (const std::string& path : {full, bare}) REQUIRE(::chmod(path.c_str(), 0755) == 0);
}

TEST_CASE("a seed that every user may write is refused, one of another user is not") {
  const Folder folder;
  REQUIRE(open_store(folder.file())->put(sample_row(1), nullptr));
  REQUIRE(::chmod(folder.file().c_str(), 0666) == 0);
  CHECK(contains(open_seed(folder.file())->unavailable_reason(), "may be written by every user"));
  REQUIRE(::chmod(folder.file().c_str(), 0644) == 0);
  if (::geteuid() == 0) {
    REQUIRE(::chown(folder.file().c_str(), kNobody, kNobody) == 0);
  }
  CHECK(has(*open_seed(folder.file()), sample_row(1)));
}
