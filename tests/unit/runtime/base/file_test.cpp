#include "runtime/base/file.hpp"

#include <doctest/doctest.h>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "runtime/base/error.hpp"
#include "tests/temporary_folder.hpp"

namespace qrow {
namespace {

// Sets a variable for a scope; nullptr unsets it.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const char* value) : name_(name) {
    const char* old = std::getenv(name);
    had_ = old != nullptr;
    if (had_) old_ = old;
    set(value);
  }
  ~ScopedVariable() { set(had_ ? old_.c_str() : nullptr); }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;

 private:
  void set(const char* value) const {
    if (value != nullptr) {
      setenv(name_, value, 1);
    } else {
      unsetenv(name_);
    }
  }
  const char* name_;
  bool had_ = false;
  std::string old_;
};

unsigned mode_of(const std::string& path) {
  struct stat info {};
  REQUIRE(::stat(path.c_str(), &info) == 0);
  return info.st_mode & 0777u;
}

}  // namespace

TEST_CASE("A file is read back byte for byte and leaves nothing beside it") {
  const TemporaryFolder folder;
  std::string bytes;
  for (int i = 0; i < 200'000; ++i) bytes += static_cast<char>(i * 7);
  write_file(folder.file("a"), bytes);
  CHECK(read_file(folder.file("a")) == bytes);
  write_file(folder.file("a"), "");
  CHECK(read_file(folder.file("a")).empty());
  const std::filesystem::directory_iterator files(folder.path());
  CHECK(std::distance(begin(files), end(files)) == 1);
}

TEST_CASE("What cannot be read or written is named with the system's reason") {
  const TemporaryFolder folder;
  try {
    read_file(folder.file("missing"));
    FAIL("a missing file was read");
  } catch (const Error& error) {
    CHECK(error.status() == Status::invalid_argument);
    CHECK(std::string(error.what()) ==
          "cannot read '" + folder.file("missing") + "': No such file or directory");
  }
  CHECK_THROWS_WITH(read_file(folder.path()),
                    ("cannot read '" + folder.path() + "': Is a directory").c_str());
  try {
    write_file(folder.file("no/such/folder/a"), "x");
    FAIL("a file was written without its folder");
  } catch (const Error& error) {
    CHECK(error.status() == Status::cache);
  }
}

TEST_CASE("A file above the limit, or without an end, is refused naming the limit") {
  const TemporaryFolder folder;
  write_file(folder.file("a"), std::string(100'000, 'x'));
  CHECK(read_file(folder.file("a"), 100'000).size() == 100'000);
  CHECK_THROWS_WITH_AS(read_file(folder.file("a"), 99'999), doctest::Contains("99999 bytes"),
                       Error);
  CHECK_THROWS_WITH_AS(read_file("/dev/zero"), doctest::Contains("16777216 bytes"), Error);
}

TEST_CASE("Missing folders are made private, existing ones are left alone") {
  const TemporaryFolder folder;
  std::string reason;
  CHECK(make_folders(folder.file("a/b/c"), &reason));
  CHECK(make_folders(folder.file("a/b/c/"), &reason));
  CHECK(mode_of(folder.file("a")) == 0700);
  CHECK(mode_of(folder.file("a/b/c")) == 0700);
  write_file(folder.file("a/file"), "x");
  CHECK_FALSE(make_folders(folder.file("a/file/d"), &reason));
  CHECK(reason.find(folder.file("a/file")) != std::string::npos);
}

TEST_CASE("The cache folder follows XDG_CACHE_HOME, then HOME, then the password file") {
  const ScopedVariable home("HOME", "/home/someone");
  {
    const ScopedVariable xdg("XDG_CACHE_HOME", "/var/cache/x");
    CHECK(user_cache_folder() == "/var/cache/x/qrow");
  }
  const ScopedVariable relative("XDG_CACHE_HOME", "relative/is/ignored");
  CHECK(user_cache_folder() == "/home/someone/.cache/qrow");
  const ScopedVariable no_xdg("XDG_CACHE_HOME", nullptr);
  const ScopedVariable no_home("HOME", nullptr);
  const auto folder = user_cache_folder();
  REQUIRE(folder);
  CHECK(folder->ends_with("/.cache/qrow"));
}

TEST_CASE("The proc file system is not remote, and a missing file asks for its folder") {
  std::string name = "untouched";
  CHECK_FALSE(is_remote_file_system("/proc", &name));
  CHECK_FALSE(is_remote_file_system("/proc/no/such/file", &name));
  CHECK(name == "untouched");
}

TEST_CASE("A lock is held by one owner until it is released") {
  const TemporaryFolder folder;
  const std::string path = folder.file("lock");
  std::string reason;
  {
    const FileLock held = FileLock::acquire(path, 0, &reason);
    REQUIRE_MESSAGE(held, reason);
    const auto start = std::chrono::steady_clock::now();
    CHECK_FALSE(FileLock::acquire(path, 50, &reason));
    CHECK(std::chrono::steady_clock::now() - start >= std::chrono::milliseconds(50));
    CHECK(reason.find("held by another") != std::string::npos);
  }
  CHECK(FileLock::acquire(path, -1, &reason));
  CHECK(file_exists(path));
}

TEST_CASE("A lock dies with its process") {
  const TemporaryFolder folder;
  const std::string path = folder.file("lock");
  int ready[2];
  REQUIRE(::pipe(ready) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const FileLock held = FileLock::acquire(path, 0, nullptr);
    const char byte = held ? 'y' : 'n';
    if (::write(ready[1], &byte, 1) == 1) ::pause();
    ::_exit(0);
  }
  char byte = 0;
  REQUIRE(::read(ready[0], &byte, 1) == 1);
  CHECK(byte == 'y');
  CHECK_FALSE(FileLock::acquire(path, 0, nullptr));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  CHECK(FileLock::acquire(path, 1000, nullptr));
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_CASE("A lock file that is a link is refused") {
  const TemporaryFolder folder;
  std::filesystem::create_symlink(folder.file("elsewhere"), folder.file("lock"));
  std::string reason;
  CHECK_FALSE(FileLock::acquire(folder.file("lock"), 0, &reason));
  CHECK(reason.find("cannot open the lock file") != std::string::npos);
  CHECK_FALSE(file_exists(folder.file("elsewhere")));
}

}  // namespace qrow
