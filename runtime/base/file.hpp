// Files, folders and locks: small wrappers with our error texts. No CUDA, no sqlite.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace qrow {

// The files that we read whole are written by people; what is larger, or has no end (/dev/zero),
// was not meant.
inline constexpr std::size_t kMaxReadBytes = std::size_t{16} << 20;
// Throws Error(invalid_argument) naming the path and the system's reason, or the limit.
std::string read_file(const std::string& path, std::size_t max_bytes = kMaxReadBytes);
// Writes beside the target and renames; throws Error(cache).
void write_file(const std::string& path, std::string_view bytes);
bool file_exists(const std::string& path);
// Creates the missing folders of `path` with mode 0700. False with `*reason` if that fails.
bool make_folders(const std::string& path, std::string* reason);

// $XDG_CACHE_HOME/qrow, else $HOME/.cache/qrow, else the home folder of the password file; nothing
// if there is none.
std::optional<std::string> user_cache_folder();

// True on file systems shared by hosts or without shared memory maps (NFS, CIFS, 9p, virtiofs,
// FUSE, Lustre, ...): sqlite's WAL must not be used there. `*name` (may be null) receives the kind.
bool is_remote_file_system(const std::string& path, std::string* name);

// An exclusive flock on a file that is created if need be and never deleted. Dies with the process.
class FileLock {
 public:
  FileLock() = default;
  ~FileLock();
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&& other) noexcept;

  // Waits at most `timeout_ms` (0: one try, -1: for ever). Nothing if not obtained; `*reason` says
  // why, and `*held` (may be null) whether somebody else holds it (else it cannot be had at all).
  static FileLock acquire(const std::string& path, int timeout_ms, std::string* reason,
                          bool* held = nullptr);
  explicit operator bool() const { return fd_ >= 0; }

 private:
  explicit FileLock(int fd) : fd_(fd) {}
  int fd_ = -1;
};

}  // namespace qrow
