// The kernel rows of one cache file. One connection guarded by a mutex; any thread may use a store.
//
// Never a call failure: find/put/touch report trouble through StoreResult and the log and go on
// without the cache; a damaged file is renamed aside and recreated. After a fork the child leaves
// the parent's connection alone and reopens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/hash.hpp"
#include "runtime/base/log.hpp"

namespace qrow {

struct KernelRow {
  Digest key;
  std::string key_text;  // stored whole, compared on a hit
  std::string family;
  std::string arch;         // canonical name
  std::string entry_name;   // of the kernel in the cubin
  std::string nvrtc_build;  // provenance; (key, nvrtc_build) is unique
  std::string options;
  std::string case_line;  // the request that made it, for people; may be empty
  std::vector<std::byte> cubin;
  std::int64_t cubin_bytes = 0;  // filled by every read, also by list(), which leaves the cubin out
  int registers = 0;
  int spill_bytes = 0;  // stores + loads
  int stack_bytes = 0;
  int smem_bytes = 0;  // static + dynamic
  double compile_ms = 0;
  std::int64_t created_unix = 0;  // filled by put() where 0
  bool pinned = false;            // prewarmed or imported: never evicted
};

struct StoreOptions {
  std::string path;        // as resolve_cache_path() (cache/cache_path.hpp) takes it
  bool read_only = false;  // seeds: never written, opened immutable; may belong to somebody else
  std::int64_t size_limit_bytes = std::int64_t{2} << 30;  // of the file; 0: none
  Log log;
  // Seams for tests. The sqlite VFS to go through ("": the default one), and a word about the file
  // system instead of asking it.
  std::string vfs;
  std::optional<bool> remote_file_system;
};

struct StoreCounts {
  std::int64_t kernels = 0, tunings = 0, pinned = 0, cubin_bytes = 0, file_bytes = 0;
  std::int64_t corrupt = 0, errors = 0;  // seen by this store since it was opened
};

class KernelStore {
 public:
  // Never throws for trouble with the file: then the store is unavailable and every operation is a
  // miss. Throws Error(cache) only where `must_work` (explicit cache operations).
  static std::unique_ptr<KernelStore> open(const StoreOptions& options, bool must_work = false);
  ~KernelStore();

  bool available() const;
  std::string unavailable_reason() const;  // "" when available
  std::string path() const;  // of the database file; "" where there is no place for one
  // For SingleFlight: the folder of lock files beside the database; "" where there is none
  // (read-only, unavailable).
  std::string lock_folder() const;

  // Whole rows whose text equals `text`, the newest first. Rows with a bad checksum are dropped,
  // deleted and counted.
  std::vector<KernelRow> find(const Digest& key, const std::string& text);
  // Replaces the row of the same (key, nvrtc_build). False if it could not be stored (`*reason`,
  // may be null): a pinned row that does not fit fails, any other evicts the least recently used
  // unpinned rows.
  bool put(const KernelRow& row, std::string* reason);
  // Notes a use for LRU; written in batches, at the latest on destruction.
  void touch(const Digest& key);
  // Removes one (key, nvrtc_build).
  void remove(const Digest& key, const std::string& nvrtc_build);

  // Without cubins (empty vectors), ordered by family, arch, key text. `arch`, `family`: "" for
  // all.
  std::vector<KernelRow> list(const std::string& arch, const std::string& family);
  // Rows whose hex key starts with `prefix`, with cubins.
  std::vector<KernelRow> find_prefix(const std::string& prefix);
  StoreCounts counts();
  // StoreCounts::corrupt alone, without a look into the file.
  std::int64_t corrupt_seen() const;

 private:
  friend struct StoreAccess;
  KernelStore();
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace qrow
