#include "cache/session.hpp"

#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include "cache/cache_path.hpp"
#include "runtime/base/file.hpp"

namespace qrow {
namespace {

// A fork waits no longer for an operation in progress; the child then works without the
// connection's being closed.
constexpr auto kForkWait = std::chrono::seconds(1);

// Uses are written in batches: a write for every hit would turn readers into writers.
constexpr std::size_t kUsesPerBatch = 64;

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

}  // namespace

class Session::Turn {
 public:
  explicit Turn(Session& session) : session_(session), lock_(session.mutex_) {}
  ~Turn() {
    const Notes notes = std::exchange(session_.notes_, {});
    lock_.unlock();
    for (const auto& [level, text] : notes) {
      try {
        session_.options_.log(level, "{}", text);
      } catch (...) {
        // A log that fails must not fail a call.
      }
    }
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  Session& session_;
  std::unique_lock<std::mutex> lock_;
};

Session::Session(const StoreOptions& options, std::string path, std::atomic<std::int64_t>& errors)
    : options_(options), path_(std::move(path)), errors_(errors), pid_(::getpid()) {
  guard_.emplace(static_cast<ForkGuarded&>(*this));
}

bool Session::open() {
  if (database_) {
    // A seed that was replaced is still what it was; a user's file that is gone collects rows for
    // nobody.
    if (options_.read_only || !database_.moved()) return true;
    notes_.emplace_back(
        LogLevel::info,
        fmt::format("cache '{}' was replaced or removed, opening it again", condition_.file));
    database_ = {};
  }
  if (given_up_) return false;
  condition_ = {};
  if (path_.empty()) {
    condition_.trouble =
        "no place for a cache: neither QROW_CACHE, XDG_CACHE_HOME nor HOME is set, and the user "
        "has no home";
  } else if (options_.read_only || make_folders(folder_of(path_), &condition_.trouble)) {
    condition_.file = real_cache_file(path_, options_.read_only);
    OpenFile opened =
        open_cache_file(options_, condition_.file, std::exchange(damaged_, std::nullopt), notes_);
    database_ = std::move(opened.database);
    condition_.trouble = std::move(opened.trouble);
    condition_.writable = opened.writable;
  } else {
    condition_.file = path_;
  }
  condition_.usable = static_cast<bool>(database_);
  given_up_ = !condition_.usable;
  if (given_up_) {
    notes_.emplace_back(
        LogLevel::warning,
        options_.read_only
            ? fmt::format("cache: {}; it is not used", condition_.trouble)
            : fmt::format("cache: {}; kernels are kept in memory only", condition_.trouble));
  }
  return condition_.usable;
}

bool Session::use(bool to_write, const Body& body, std::string* why) {
  const Turn turn(*this);
  std::string reason;
  for (bool again = false;; again = true) {
    if (!open() || (to_write && !condition_.writable)) {
      reason = condition_.trouble.empty()
                   ? fmt::format("'{}' is opened for reading only", condition_.file)
                   : condition_.trouble;
      break;
    }
    try {
      body(database_);
      return true;
    } catch (const sqlite::Failure& failure) {
      ++errors_;
      reason = fmt::format("'{}': {}", condition_.file, failure.what());
      note_failure(failure);
      if (!recover(failure) || again) break;
    }
  }
  if (why != nullptr) *why = reason;
  return false;
}

// True if another try may succeed.
bool Session::recover(const sqlite::Failure& failure) {
  switch (failure.code()) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB: {
      // If the file was replaced meanwhile, somebody else has set it aside.
      const auto id = file_id(condition_.file);
      if (!options_.read_only && !database_.moved()) damaged_ = id;
      database_ = {};
      return true;
    }
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PROTOCOL:
      database_ = {};
      return true;
    default:  // busy, full, ...: the connection is fine
      return false;
  }
}

// Once for every kind of trouble: a full disk would otherwise fill the log as well.
void Session::note_failure(const sqlite::Failure& failure) {
  const bool first = noted_codes_.insert(failure.extended_code()).second;
  notes_.emplace_back(first ? LogLevel::warning : LogLevel::debug,
                      fmt::format("cache '{}': {}", condition_.file, failure.what()));
}

Session::Condition Session::condition() {
  const Turn turn(*this);
  open();
  return condition_;
}

bool Session::add_use(const Digest& key) {
  const Turn turn(*this);
  if (!condition_.writable) return false;
  std::erase(uses_, key);  // the order is that of the last uses
  uses_.push_back(key);
  return uses_.size() >= kUsesPerBatch;
}

std::vector<Digest> Session::take_uses() {
  const Turn turn(*this);
  return std::exchange(uses_, {});
}

void Session::leave_to(Session& heir) {
  heir.predecessor_ = this;
  guard_.reset();
}

bool Session::before_fork() noexcept {
  if (!of_this_process()) return false;
  // Not a timed mutex: the thread sanitizer of GCC 12 does not see those.
  const auto end = std::chrono::steady_clock::now() + kForkWait;
  while (!mutex_.try_lock()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  database_ = {};
  return true;
}

void Session::after_fork_in_parent() noexcept { mutex_.unlock(); }

void Session::after_fork_in_child() noexcept {
  pid_ = ::getpid();
  uses_.clear();  // the parent writes them
  mutex_.unlock();
}

}  // namespace qrow
