#include "runtime/tools/json_reader.hpp"

#include <sqlite3.h>

#include <cmath>

#include "runtime/base/error.hpp"

namespace qrow {
namespace {

struct CloseDatabase {
  void operator()(sqlite3* database) const { sqlite3_close(database); }
};
struct FinalizeStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Database = std::unique_ptr<sqlite3, CloseDatabase>;
using Statement = std::unique_ptr<sqlite3_stmt, FinalizeStatement>;

Database open_memory() {
  sqlite3* database = nullptr;
  int code = sqlite3_open(":memory:", &database);
  Database owner(database);
  if (code != SQLITE_OK) fail(Status::internal, "sqlite3_open(:memory:): {}", sqlite3_errstr(code));
  return owner;
}

Statement prepare(sqlite3* database, const char* sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(database, sql, -1, &statement, nullptr) != SQLITE_OK)
    fail(Status::internal, "sqlite3_prepare '{}': {}; a sqlite with JSON functions is needed", sql,
         sqlite3_errmsg(database));
  return Statement(statement);
}

void bind(sqlite3_stmt* statement, int index, std::string_view text) {
  sqlite3_bind_text64(statement, index, text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8);
}

}  // namespace

struct JsonReader::State {
  Database database = open_memory();
  Statement look = prepare(database.get(), "SELECT json_type(?1, ?2), json_extract(?1, ?2)");
  Statement count = prepare(database.get(), "SELECT json_array_length(?1, ?2)");

  // One row; the statement stays on it until the next use.
  sqlite3_stmt* step(const Statement& statement, std::string_view text, const std::string& path) {
    sqlite3_reset(statement.get());
    bind(statement.get(), 1, text);
    bind(statement.get(), 2, path);
    if (sqlite3_step(statement.get()) != SQLITE_ROW)
      fail(Status::internal, "JSON path {}: {}", path, sqlite3_errmsg(database.get()));
    return statement.get();
  }
};

bool is_json(std::string_view text) {
  Database database = open_memory();
  Statement statement = prepare(database.get(), "SELECT json_valid(?1)");
  bind(statement.get(), 1, text);
  return sqlite3_step(statement.get()) == SQLITE_ROW && sqlite3_column_int(statement.get(), 0) == 1;
}

JsonReader::JsonReader(std::string name, std::string text)
    : name_(std::move(name)), text_(std::move(text)), state_(std::make_unique<State>()) {
  if (!is_json(text_)) fail(Status::invalid_argument, "{} is not valid JSON", name_);
}

JsonReader::~JsonReader() = default;
JsonReader::JsonReader(JsonReader&& other) noexcept = default;

std::string JsonReader::type(const std::string& path) const {
  const unsigned char* type = sqlite3_column_text(state_->step(state_->look, text_, path), 0);
  return type == nullptr ? std::string() : std::string(reinterpret_cast<const char*>(type));
}

bool JsonReader::has(const std::string& path) const {
  std::string found = type(path);
  return !found.empty() && found != "null";
}

std::optional<long long> JsonReader::integer(const std::string& path) const {
  if (!has(path)) return std::nullopt;
  if (type(path) == "integer") return sqlite3_column_int64(state_->look.get(), 1);
  std::optional<double> value = number(path);  // some writers give 8.0
  if (std::floor(*value) != *value || std::fabs(*value) > 1e15) wrong_type(path, "an integer");
  return static_cast<long long>(*value);
}

std::optional<double> JsonReader::number(const std::string& path) const {
  if (!has(path)) return std::nullopt;
  std::string found = type(path);
  if (found != "integer" && found != "real") wrong_type(path, "a number");
  return sqlite3_column_double(state_->look.get(), 1);
}

std::optional<std::string> JsonReader::text(const std::string& path) const {
  if (!has(path)) return std::nullopt;
  if (type(path) != "text") wrong_type(path, "a text");
  return std::string(reinterpret_cast<const char*>(sqlite3_column_text(state_->look.get(), 1)));
}

std::optional<bool> JsonReader::boolean(const std::string& path) const {
  if (!has(path)) return std::nullopt;
  std::string found = type(path);
  if (found != "true" && found != "false") wrong_type(path, "true or false");
  return found == "true";
}

std::optional<int> JsonReader::array_size(const std::string& path) const {
  if (!has(path)) return std::nullopt;
  if (type(path) != "array") wrong_type(path, "a list");
  return sqlite3_column_int(state_->step(state_->count, text_, path), 0);
}

void JsonReader::wrong_type(const std::string& path, const char* wanted) const {
  sqlite3_stmt* row = state_->step(state_->look, text_, path);
  const unsigned char* value = sqlite3_column_text(row, 1);
  fail(Status::invalid_argument, "{}: {} is {}, it must be {}", name_,
       path.size() > 2 ? path.substr(2) : "the document",
       value == nullptr ? "null" : reinterpret_cast<const char*>(value), wanted);
}

}  // namespace qrow
