// `qrow cache`: statistics, verification, clearing and the place of the cache file.
#include "cache/export.hpp"

#include "cache/cache_path.hpp"
#include "runtime/base/file.hpp"
#include "runtime/tools/command.hpp"
#include "runtime/tools/shared_arguments.hpp"

namespace qrow {
namespace {

constexpr const char* kUsage = R"(usage: qrow cache stats | verify [--repair] | clear | path

  stats    kernels, tuning records, sizes
  verify   reads every row and compares its checksum; --repair deletes what is damaged. Exit code 1 if something is
  clear    deletes every row
  path     prints where the cache file is (or would be)

example: qrow cache verify --cache kernels.sqlite
)";

int stats(KernelStore& store, Output& output) {
  StoreCounts counts = store.counts();
  JsonObject record;
  record.add("path", store.path()).add("kernels", counts.kernels).add("tunings", counts.tunings);
  record.add("pinned", counts.pinned)
      .add("cubin_bytes", counts.cubin_bytes)
      .add("file_bytes", counts.file_bytes);
  output.record(record);
  output.line("{}", store.path());
  output.line("{} kernels ({} pinned), {} tuning records", counts.kernels, counts.pinned,
              counts.tunings);
  output.line("{} of cubins in a file of {}", format_bytes(counts.cubin_bytes),
              format_bytes(counts.file_bytes));
  return kExitDone;
}

int verify(KernelStore& store, bool repair, Output& output) {
  CacheReport report = verify_cache(store, repair);
  for (const std::string& note : report.notes) output.error("{}", note);
  JsonObject record;
  record.add("path", store.path())
      .add("kernels", report.kernels)
      .add("tunings", report.tunings)
      .add("bad", report.bad);
  output.record(record.add("repaired", repair && report.bad > 0));
  output.line("{} kernels and {} tuning records read, {} damaged{}", report.kernels, report.tunings,
              report.bad,
              report.bad == 0 ? ""
              : repair        ? " and deleted"
                              : ": --repair deletes them");
  return report.bad > 0 && !repair ? kExitFailed : kExitDone;
}

int clear(KernelStore& store, Output& output) {
  CacheReport report = clear_cache(store);
  JsonObject record;
  output.record(record.add("path", store.path())
                    .add("kernels", report.kernels)
                    .add("tunings", report.tunings));
  output.line("deleted {} kernels and {} tuning records from {}", report.kernels, report.tunings,
              store.path());
  return kExitDone;
}

int print_path(const std::string& given, Output& output) {
  std::string path = resolve_cache_path(given);
  if (path.empty())
    fail(Status::cache,
         "there is no place for a cache: no --cache, no QROW_CACHE, and this user has no home "
         "folder");
  JsonObject record;
  output.record(record.add("path", path).add("exists", file_exists(path)));
  output.line("{}", path);
  return kExitDone;
}

int run(Arguments& arguments, Output& output) {
  bool repair = arguments.flag("--repair");
  std::string given = arguments.value("--cache").value_or("");
  std::string what = arguments.words(1, 1, "qrow cache stats|verify|clear|path")[0];
  if (repair && what != "verify")
    fail(Status::invalid_argument, "--repair goes with 'qrow cache verify'");
  if (what == "path") return print_path(given, output);
  if (what != "stats" && what != "verify" && what != "clear")
    fail(Status::invalid_argument, "'{}' is unknown: legal are stats, verify, clear, path", what);
  std::unique_ptr<KernelStore> store = open_cache(given, output, true, repair);
  if (what == "stats") return stats(*store, output);
  if (what == "verify") return verify(*store, repair, output);
  return clear(*store, output);
}

}  // namespace

extern const Command kCacheCommand;
const Command kCacheCommand = {"cache", "stats, verify, clear, path", kUsage, run};

}  // namespace qrow
