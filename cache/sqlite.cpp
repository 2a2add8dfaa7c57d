#include "cache/sqlite.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <array>
#include <cstring>
#include <utility>

#include "cache/digest_bytes.hpp"

namespace qrow::sqlite {
namespace {

constexpr int kBusyTimeoutMs = 5000;
// Far above any cubin; keeps a damaged length from asking for gigabytes.
constexpr int kMaxValueBytes = 256 << 20;

// Of the file format: 16 bytes of magic, the journal version at 18, application_id and user_version
// as big-endian words.
constexpr std::size_t kHeaderBytes = 100;
constexpr std::string_view kMagic("SQLite format 3\0", 16);

std::int64_t word_at(const std::array<unsigned char, kHeaderBytes>& bytes, std::size_t offset) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8 | bytes[offset + i];
  return value;
}

// A path as a URI that sqlite reads back unchanged.
std::string immutable_uri(const std::string& path) {
  std::string uri = "file:";
  for (const char c : path) {
    if (c == '%' || c == '?' || c == '#') {
      uri += fmt::format("%{:02x}", static_cast<unsigned>(c));
    } else {
      uri += c;
    }
  }
  return uri + "?immutable=1";
}

}  // namespace

bool Failure::damaged() const { return code() == SQLITE_CORRUPT || code() == SQLITE_NOTADB; }

Cursor::~Cursor() {
  if (statement_ == nullptr) return;
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

Cursor::Cursor(Cursor&& other) noexcept : statement_(std::exchange(other.statement_, nullptr)) {}

void Cursor::check(int code) const {
  if (code == SQLITE_OK) return;
  throw Failure(code, sqlite3_errmsg(sqlite3_db_handle(statement_)));
}

void Cursor::bind_one(int index, std::int64_t value) {
  check(sqlite3_bind_int64(statement_, index, value));
}

void Cursor::bind_one(int index, double value) {
  check(sqlite3_bind_double(statement_, index, value));
}

void Cursor::bind_one(int index, std::string_view value) {
  // A null pointer would bind NULL instead of an empty text.
  const char* data = value.empty() ? "" : value.data();
  check(sqlite3_bind_text64(statement_, index, data, value.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
}

void Cursor::bind_one(int index, std::span<const std::byte> value) {
  const void* data = value.empty() ? static_cast<const void*>("") : value.data();
  check(sqlite3_bind_blob64(statement_, index, data, value.size(), SQLITE_TRANSIENT));
}

void Cursor::bind_one(int index, const Digest& value) {
  const auto bytes = digest_bytes(value);
  bind_one(index, std::span<const std::byte>(bytes));
}

bool Cursor::step() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  throw Failure(code, sqlite3_errmsg(sqlite3_db_handle(statement_)));
}

std::int64_t Cursor::integer(int column) const { return sqlite3_column_int64(statement_, column); }

double Cursor::real(int column) const { return sqlite3_column_double(statement_, column); }

std::string_view Cursor::text(int column) const {
  const auto* data = sqlite3_column_text(statement_, column);
  if (data == nullptr) return {};
  return {reinterpret_cast<const char*>(data),
          static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

std::span<const std::byte> Cursor::blob(int column) const {
  const void* data = sqlite3_column_blob(statement_, column);
  if (data == nullptr) return {};
  return {static_cast<const std::byte*>(data),
          static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

Database Database::open(const std::string& path, Access access, const std::string& vfs) {
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_NOFOLLOW;
  flags |= access == Access::read_write ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY;
  if (access == Access::immutable) flags |= SQLITE_OPEN_URI;
  const std::string name = access == Access::immutable ? immutable_uri(path) : path;

  sqlite3* handle = nullptr;
  const int code =
      sqlite3_open_v2(name.c_str(), &handle, flags, vfs.empty() ? nullptr : vfs.c_str());
  Database database;
  database.handle_.reset(handle);  // also after a failure: sqlite wants it closed
  if (code != SQLITE_OK) {
    throw Failure(handle != nullptr ? sqlite3_extended_errcode(handle) : code,
                  handle != nullptr ? sqlite3_errmsg(handle) : sqlite3_errstr(code));
  }
  sqlite3_extended_result_codes(handle, 1);
  sqlite3_busy_timeout(handle, kBusyTimeoutMs);
  sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, kMaxValueBytes);
  // The file may have been planted or damaged: its schema must not make us run anything.
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  return database;
}

Database::~Database() {
  statements_.clear();
  if (!handle_ || !moved()) return;
  // Our file is gone from its path. Closing would delete the write-ahead log by name, and that name
  // may by now belong to the file that replaced ours.
  int keep = 1;
  sqlite3_file_control(handle_.get(), "main", SQLITE_FCNTL_PERSIST_WAL, &keep);
}

Database::Database(Database&&) noexcept = default;

Database& Database::operator=(Database&& other) noexcept {
  std::swap(handle_, other.handle_);
  std::swap(statements_, other.statements_);
  return *this;
}

void Database::CloseHandle::operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }

void Database::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

void Database::fail(int code, std::string_view doing) const {
  throw Failure(code, fmt::format("{} ({})", sqlite3_errmsg(handle_.get()), doing));
}

void Database::exec(const char* sql) {
  const int code = sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(code, std::string_view(sql).substr(0, 60));
}

Cursor Database::query(std::string_view sql) {
  auto found = statements_.find(sql);
  if (found == statements_.end()) {
    sqlite3_stmt* statement = nullptr;
    const int code = sqlite3_prepare_v3(handle_.get(), sql.data(), static_cast<int>(sql.size()),
                                        SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
    if (code != SQLITE_OK) fail(code, sql.substr(0, 60));
    found = statements_.try_emplace(std::string(sql), statement).first;
  }
  return Cursor(found->second.get());
}

std::int64_t Database::number(std::string_view sql) {
  Cursor cursor = query(sql);
  return cursor.step() ? cursor.integer(0) : 0;
}

Header Database::header() {
  sqlite3_file* file = nullptr;
  sqlite3_file_control(handle_.get(), "main", SQLITE_FCNTL_FILE_POINTER, &file);
  Header header;
  if (file == nullptr || file->pMethods == nullptr) return header;
  sqlite3_int64 size = 0;
  if (const int code = file->pMethods->xFileSize(file, &size); code != SQLITE_OK) {
    fail(code, "size of the file");
  }
  header.file_bytes = size;
  std::array<unsigned char, kHeaderBytes> bytes{};
  const int code = file->pMethods->xRead(file, bytes.data(), kHeaderBytes, 0);
  if (code == SQLITE_IOERR_SHORT_READ) return header;
  if (code != SQLITE_OK) fail(code, "header of the file");
  header.is_sqlite = std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) == 0;
  header.wal = bytes[18] == 2;
  header.user_version = word_at(bytes, 60);
  header.application_id = word_at(bytes, 68);
  return header;
}

bool Database::read_only() const { return sqlite3_db_readonly(handle_.get(), "main") == 1; }

bool Database::moved() const {
  int moved = 0;
  sqlite3_file_control(handle_.get(), "main", SQLITE_FCNTL_HAS_MOVED, &moved);
  return moved != 0;
}

Transaction::Transaction(Database& database) : database_(database) {
  database_.query("BEGIN IMMEDIATE").run();
}

Transaction::~Transaction() {
  if (!open_) return;
  try {
    database_.query("ROLLBACK").run();
  } catch (const std::exception&) {
    // sqlite has rolled back on its own after some failures.
  }
}

void Transaction::commit() {
  database_.query("COMMIT").run();
  open_ = false;
}

}  // namespace qrow::sqlite
