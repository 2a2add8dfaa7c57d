// One process's connection to a cache file: opened when needed, one user at a time, reopened after
// a fork, after the file has been replaced and after trouble. Private to cache/; any thread.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cache/fork_guard.hpp"
#include "cache/kernel_store.hpp"
#include "cache/sqlite.hpp"
#include "cache/store_file.hpp"

namespace qrow {

class Session final : private ForkGuarded {
 public:
  // `path` from resolve_cache_path(). `options` and `errors` outlive the session.
  Session(const StoreOptions& options, std::string path, std::atomic<std::int64_t>& errors);
  ~Session() = default;

  using Body = std::function<void(sqlite::Database&)>;
  // Runs `body` on the connection. A damaged file is set aside and a lost one reopened, and the
  // body run once more: it must start afresh. False with `*why` (may be null) if it could not be
  // done; what `body` throws besides sqlite::Failure passes through.
  bool read(const Body& body, std::string* why) { return use(false, body, why); }
  bool write(const Body& body, std::string* why) { return use(true, body, why); }

  struct Condition {
    std::string file;     // real path
    std::string trouble;  // "" if it can be used as asked
    bool usable = false;
    bool writable = false;
  };
  Condition condition();  // opens if need be

  // Uses to be written with the next write. True when there are enough to write them now.
  bool add_use(const Digest& key);
  std::vector<Digest> take_uses();

  // False in a child of the process that made it, unless the fork was prepared. Such a session is
  // left alone for ever: `heir` replaces it and keeps it reachable.
  bool of_this_process() const { return pid_.load() == ::getpid(); }
  void leave_to(Session& heir);

 private:
  class Turn;  // the lock; messages are logged after its end

  bool use(bool to_write, const Body& body, std::string* why);
  bool open();
  bool recover(const sqlite::Failure& failure);
  void note_failure(const sqlite::Failure& failure);

  bool before_fork() noexcept override;
  void after_fork_in_parent() noexcept override;
  void after_fork_in_child() noexcept override;

  const StoreOptions& options_;
  const std::string path_;
  std::atomic<std::int64_t>& errors_;
  std::atomic<pid_t> pid_;
  Session* predecessor_ = nullptr;

  std::mutex mutex_;  // of everything below
  sqlite::Database database_;
  Condition condition_;
  bool given_up_ = false;  // the last open failed: do not try again
  std::optional<FileId> damaged_;
  std::vector<Digest> uses_;
  std::set<int> noted_codes_;
  Notes notes_;
  std::optional<ForkGuard> guard_;  // last: ends first
};

}  // namespace qrow
