#include "runtime/base/file.hpp"

#include <fcntl.h>
#include <pwd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/base/env.hpp"
#include "runtime/base/error.hpp"

namespace qrow {
namespace {

// Of an errno value; unlike strerror, safe from any thread.
std::string reason_of(int error) { return std::generic_category().message(error); }

// Closes at the end of the scope.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  // False with errno set: on some file systems only close() reports that the bytes did not arrive.
  bool close() { return ::close(std::exchange(fd_, -1)) == 0; }

 private:
  int fd_;
};

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

bool is_folder(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

std::string read_file(const std::string& path, std::size_t max_bytes) {
  const auto refuse = [&path](int error) {
    fail(Status::invalid_argument, "cannot read '{}': {}", path, reason_of(error));
  };
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) refuse(errno);
  std::string bytes;
  std::vector<char> buffer(64 * 1024);
  for (;;) {
    const ssize_t count = ::read(file.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) refuse(errno);
    if (count == 0) return bytes;
    bytes.append(buffer.data(), static_cast<std::size_t>(count));
    if (bytes.size() > max_bytes) {
      fail(Status::invalid_argument,
           "cannot read '{}': it is larger than {} bytes, the limit for a file of this kind", path,
           max_bytes);
    }
  }
}

void write_file(const std::string& path, std::string_view bytes) {
  // The pid and a count make the name ours alone; O_EXCL refuses a planted link.
  static std::atomic<unsigned> count{0};
  const std::string temporary = fmt::format("{}.{}.{}.tmp", path, ::getpid(), count++);
  Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  int error = file.get() < 0 ? errno : 0;
  if (error == 0 && !(write_all(file.get(), bytes) && ::fsync(file.get()) == 0 && file.close() &&
                      ::rename(temporary.c_str(), path.c_str()) == 0)) {
    error = errno;
    ::unlink(temporary.c_str());
  }
  if (error != 0) {
    fail(Status::cache, "cannot write {} bytes to '{}': {}", bytes.size(), path, reason_of(error));
  }
}

bool file_exists(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0;
}

bool make_folders(const std::string& path, std::string* reason) {
  for (std::size_t end = 0; end != std::string::npos;) {
    end = path.find('/', end + 1);
    const std::string folder = path.substr(0, end);
    if (folder.empty() || is_folder(folder)) continue;
    // Another process may create it between the question and the call.
    if (::mkdir(folder.c_str(), 0700) != 0 && !(errno == EEXIST && is_folder(folder))) {
      if (reason != nullptr) {
        *reason = fmt::format("cannot create the folder '{}': {}", folder, reason_of(errno));
      }
      return false;
    }
  }
  return true;
}

std::optional<std::string> user_cache_folder() {
  // The XDG rules: a relative path in the variable is to be ignored.
  const auto xdg = foreign_env("XDG_CACHE_HOME");
  if (xdg && xdg->front() == '/') return *xdg + "/qrow";
  const auto home = foreign_env("HOME");
  if (home && home->front() == '/') return *home + "/.cache/qrow";
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> buffer(16 * 1024);
  if (::getpwuid_r(::getuid(), &entry, buffer.data(), buffer.size(), &found) == 0 &&
      found != nullptr && found->pw_dir != nullptr && found->pw_dir[0] == '/') {
    return std::string(found->pw_dir) + "/.cache/qrow";
  }
  return std::nullopt;
}

bool is_remote_file_system(const std::string& path, std::string* name) {
  // f_type values, from the kernel's interface; FUSE covers virtiofs and most user-space network
  // file systems.
  constexpr struct {
    unsigned long type;
    const char* name;
  } kRemote[] = {
      {0x6969, "NFS"},        {0xFF534D42, "CIFS"},   {0xFE534D42, "SMB2"},   {0x517B, "SMB"},
      {0x01021997, "9p"},     {0x65735546, "FUSE"},   {0x0BD00BD0, "Lustre"}, {0x47504653, "GPFS"},
      {0x00C36400, "Ceph"},   {0x19830326, "BeeGFS"}, {0x5346414F, "AFS"},    {0x6B414653, "AFS"},
      {0x73757245, "Coda"},   {0x7461636F, "OCFS2"},  {0x01161970, "GFS2"},   {0xAAD7AAEA, "PanFS"},
      {0x786F4256, "vboxsf"},
  };
  // A file that is about to be created lies on the file system of the nearest folder that exists.
  std::string existing = path.empty() ? "." : path;
  struct statfs info {};
  while (::statfs(existing.c_str(), &info) != 0) {
    const std::string parent = parent_of(existing);
    if (parent == existing) return false;
    existing = parent;
  }
  for (const auto& remote : kRemote) {
    if (remote.type != (static_cast<unsigned long>(info.f_type) & 0xFFFFFFFFul)) continue;
    if (name != nullptr) *name = remote.name;
    return true;
  }
  return false;
}

FileLock::~FileLock() {
  if (fd_ >= 0) ::close(fd_);
}

FileLock::FileLock(FileLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

FileLock& FileLock::operator=(FileLock&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

FileLock FileLock::acquire(const std::string& path, int timeout_ms, std::string* reason,
                           bool* held) {
  if (held != nullptr) *held = false;
  using Clock = std::chrono::steady_clock;
  const auto give_up = Clock::now() + std::chrono::milliseconds(timeout_ms);
  FileLock lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock) {
    if (reason != nullptr) {
      *reason = fmt::format("cannot open the lock file '{}': {}", path, reason_of(errno));
    }
    return lock;
  }
  // flock has no timeout of its own. Asking again after at most 20 ms is short beside a
  // compilation.
  std::chrono::milliseconds pause(1);
  while (::flock(lock.fd_, timeout_ms < 0 ? LOCK_EX : LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK || Clock::now() >= give_up) {
      if (held != nullptr) *held = errno == EWOULDBLOCK;
      if (reason != nullptr) {
        *reason =
            errno == EWOULDBLOCK
                ? fmt::format("'{}' is held by another process (waited {} ms)", path, timeout_ms)
                : fmt::format("cannot lock '{}': {}", path, reason_of(errno));
      }
      return FileLock();
    }
    std::this_thread::sleep_for(pause);
    if (pause < std::chrono::milliseconds(20)) pause *= 2;
  }
  return lock;
}

}  // namespace qrow
