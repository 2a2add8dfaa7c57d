#include "cache/file_look.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <utility>

#include "cache/store_file.hpp"
#include "runtime/base/file.hpp"

namespace qrow {
namespace {

// sqlite maps nothing: a file cut short under a map is a SIGBUS.
constexpr auto kReaderPragmas = "PRAGMA mmap_size = 0; PRAGMA cell_size_check = ON;";

// After a power loss the last rows may be missing, which a cache can bear; nothing is broken. The
// log stays small beside the smallest cache.
constexpr auto kWalPragmas =
    "PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 512; PRAGMA journal_size_limit = "
    "2097152;";

// TRUNCATE, because removing files is what network file systems do worst.
constexpr auto kRollbackPragmas = "PRAGMA journal_mode = TRUNCATE; PRAGMA synchronous = FULL;";

void probe(sqlite::Database& database) {
  constexpr auto kSql =
      "SELECT count(*) FROM sqlite_schema WHERE name IN ('kernel', 'last_use', 'tuning')";
  if (database.number(kSql) != 3) throw sqlite::Failure(SQLITE_CORRUPT, "its tables are missing");
}

Look without_database(FileState state, std::string why) {
  Look look;
  look.state = state;
  look.why = std::move(why);
  return look;
}

}  // namespace

Look look_at_header(const sqlite::Header& header, const std::string& file) {
  if (header.file_bytes == 0)
    return without_database(FileState::absent, fmt::format("'{}' is empty", file));
  if (!header.is_sqlite) {
    return without_database(
        FileState::damaged,
        fmt::format("'{}' is damaged or no qrow cache: it is not an sqlite database", file));
  }
  if (header.application_id != kApplicationId) {
    return without_database(FileState::foreign,
                            fmt::format("'{}' is a foreign sqlite database (application id {:#x}, "
                                        "not qrow's {:#x}): give another path",
                                        file, header.application_id, kApplicationId));
  }
  if (header.user_version != kCacheFormat) {
    const char* other = header.user_version > kCacheFormat ? "a newer" : "an older";
    return without_database(FileState::foreign,
                            fmt::format("'{}' has cache format {}, made by {} qrow, and this one "
                                        "knows format {}: give another path",
                                        file, header.user_version, other, kCacheFormat));
  }
  return without_database(FileState::good, {});
}

Look explain(const sqlite::Failure& failure, const std::string& file) {
  const int code = failure.code();
  const int extended = failure.extended_code();
  const std::string why = fmt::format("cannot open '{}': {}", file, failure.what());
  if (failure.damaged()) {
    return without_database(FileState::damaged,
                            fmt::format("'{}' is damaged: {}", file, failure.what()));
  }
  if (code == SQLITE_PROTOCOL || extended == SQLITE_IOERR_SHMOPEN ||
      extended == SQLITE_IOERR_SHMSIZE || extended == SQLITE_IOERR_SHMMAP ||
      extended == SQLITE_IOERR_SHMLOCK) {
    return without_database(FileState::wal_fails, why);
  }
  if (code == SQLITE_READONLY || code == SQLITE_PERM)
    return without_database(FileState::read_only, why);
  if (code == SQLITE_CANTOPEN && !file_exists(file)) {
    return without_database(FileState::absent, fmt::format("'{}' does not exist", file));
  }
  return without_database(FileState::refused, why);
}

void set_up_reader(sqlite::Database& database) {
  database.exec(kReaderPragmas);
  probe(database);
}

Look look_at(const std::string& file, Journal wanted, const std::string& vfs) {
  try {
    sqlite::Database database = sqlite::Database::open(file, sqlite::Access::read_write, vfs);
    const sqlite::Header header = database.header();
    Look look = look_at_header(header, file);
    if (look.state != FileState::good) return look;
    if (database.read_only()) {
      return without_database(FileState::read_only,
                              fmt::format("'{}' cannot be written: permission denied", file));
    }
    if (header.wal != (wanted == Journal::wal))
      return without_database(FileState::other_journal, {});
    database.exec(wanted == Journal::wal ? kWalPragmas : kRollbackPragmas);
    set_up_reader(database);
    look.database = std::move(database);
    return look;
  } catch (const sqlite::Failure& failure) {
    return explain(failure, file);
  }
}

}  // namespace qrow
