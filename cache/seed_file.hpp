// Cache files that are read or written whole: the inputs of import and merge, the output of export
// and merge. Private to cache/. Their failures are Error(cache) naming the file, so that they are
// never taken for trouble of a store.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cache/kernel_rows.hpp"
#include "cache/sqlite.hpp"
#include "cache/tuning_rows.hpp"

namespace qrow {

class SeedReader {
 public:
  // Refuses foreign, damaged and newer files, saying which. `doing`: "import", for the message.
  SeedReader(const std::string& file, const std::string& doing);

  std::vector<KernelEntry> entries();
  // REQUIRES: a rowid of entries(). Refuses a damaged row.
  KernelRow kernel(std::int64_t rowid);
  std::vector<TuningRow> tunings();

 private:
  template <typename Operation>
  auto guarded(const Operation& operation);

  std::string file_;
  std::string doing_;
  sqlite::Database database_;
};

// The real path of `file` if an export may be written there: where nothing is, over an empty file
// or over another qrow file, a link to one followed. Anything else is refused and stays.
std::string export_place(const std::string& file);

// Writes beside `file` and renames at the end, so that there is a whole file or the one of before.
// The same rows in the same order give the same bytes.
class SeedWriter {
 public:
  explicit SeedWriter(const std::string& file);
  ~SeedWriter();
  SeedWriter(const SeedWriter&) = delete;
  SeedWriter& operator=(const SeedWriter&) = delete;

  void add(const KernelRow& row);  // as a pinned row
  void add(const TuningRow& row);
  void finish();

 private:
  template <typename Operation>
  void guarded(const Operation& operation);

  std::string file_;
  std::string temporary_;
  sqlite::Database database_;
  std::optional<sqlite::Transaction> transaction_;
};

}  // namespace qrow
