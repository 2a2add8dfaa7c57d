// Owners for sqlite's handles, and the one place that opens a database. Private to cache/.
//
// A Database is opened without sqlite's own mutexes: whoever holds it serialises the use. A failing
// call throws sqlite::Failure, which never leaves cache/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "runtime/base/hash.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace qrow::sqlite {

class Failure : public std::runtime_error {
 public:
  Failure(int extended_code, const std::string& text)
      : std::runtime_error(text), extended_code_(extended_code) {}
  int code() const { return extended_code_ & 0xff; }  // SQLITE_BUSY, ...
  int extended_code() const { return extended_code_; }
  bool damaged() const;  // the bytes are not those of a sound database

 private:
  int extended_code_;
};

// One run of a prepared statement. Ends (and releases its locks) with the scope. Bound values are
// copied; columns that text() and blob() return live until the next step.
class Cursor {
 public:
  explicit Cursor(sqlite3_stmt* statement) : statement_(statement) {}
  ~Cursor();
  Cursor(Cursor&& other) noexcept;
  Cursor& operator=(Cursor&&) = delete;

  // Binds the parameters ?1, ?2, ... in order.
  template <typename... Values>
  Cursor& bind(const Values&... values) {
    int index = 0;
    (bind_one(++index, values), ...);
    return *this;
  }
  bool step();  // false when there is no further row
  void run() {
    while (step()) {
    }
  }

  std::int64_t integer(int column) const;
  int small(int column) const { return static_cast<int>(integer(column)); }
  double real(int column) const;
  std::string_view text(int column) const;
  std::span<const std::byte> blob(int column) const;

 private:
  void bind_one(int index, std::int64_t value);
  void bind_one(int index, int value) { bind_one(index, std::int64_t{value}); }
  void bind_one(int index, bool value) { bind_one(index, std::int64_t{value}); }
  void bind_one(int index, double value);
  void bind_one(int index, std::string_view value);
  void bind_one(int index, const std::string& value) { bind_one(index, std::string_view(value)); }
  void bind_one(int index, std::span<const std::byte> value);
  void bind_one(int index, const Digest& value);
  void check(int code) const;

  sqlite3_stmt* statement_;
};

enum class Access {
  read_write,  // of a file that exists; never creates
  read_only,   // takes sqlite's locks: another process may be writing
  immutable,   // takes no locks: nobody writes the file while it is open
};

// What the first 100 bytes say, read through sqlite's own descriptor: closing another one would
// drop its locks.
struct Header {
  std::int64_t file_bytes = 0;
  bool is_sqlite = false;
  bool wal = false;
  std::int64_t application_id = 0;
  std::int64_t user_version = 0;
};

class Database {
 public:
  Database() = default;
  // `path` is absolute. `vfs` "": the default one.
  static Database open(const std::string& path, Access access, const std::string& vfs);
  ~Database();
  Database(Database&&) noexcept;
  Database& operator=(Database&&) noexcept;

  explicit operator bool() const { return handle_ != nullptr; }
  void exec(const char* sql);
  // Prepared once per text. REQUIRES: no other cursor of the same text is alive.
  Cursor query(std::string_view sql);
  // The first column of the first row; 0 if there is none.
  std::int64_t number(std::string_view sql);
  Header header();
  bool read_only() const;
  // Another file, or none, is now at the path that was opened.
  bool moved() const;

 private:
  struct CloseHandle {
    void operator()(sqlite3* handle) const;
  };
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  [[noreturn]] void fail(int code, std::string_view doing) const;

  std::unique_ptr<sqlite3, CloseHandle> handle_;
  std::map<std::string, std::unique_ptr<sqlite3_stmt, Finalize>, std::less<>> statements_;
};

// Every write happens inside one: BEGIN IMMEDIATE waits for its turn, where a transaction that
// reads first and then writes would fail at once. Rolled back unless committed.
class Transaction {
 public:
  explicit Transaction(Database& database);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  Database& database_;
  bool open_ = true;
};

}  // namespace qrow::sqlite
