// `qrow export`, `qrow import` and `qrow merge`: cache files between machines.
#include "runtime/base/file.hpp"
#include "runtime/tools/cache_filter.hpp"
#include "runtime/tools/command.hpp"
#include "runtime/tools/scratch_folder.hpp"
#include "runtime/tools/shared_arguments.hpp"

namespace qrow {
namespace {

constexpr const char* kFilters = "[--arch LIST] [--model config.json] [--only kernels|tuning]";

constexpr const char* kExportUsage =
    R"(usage: qrow export FILE [--arch LIST] [--model config.json] [--only kernels|tuning]

Writes the cache, or the part that the filters name, into one file: the same rows give the same bytes. The file can be
imported, merged, or used as it is as a read-only seed (QROW_SEEDS=FILE). A FILE that is there already is replaced only
if it is empty, a qrow export or a cache that nobody uses. --model takes what prewarming that model makes
for rows 1 to 8, any KV type and 1 to 16 GPUs.

example: qrow export kernels.sqlite --arch sm_90a --model config.json
)";

constexpr const char* kImportUsage =
    R"(usage: qrow import FILE [--arch LIST] [--model config.json] [--only kernels|tuning]

Adds the rows of an export to the cache. They are pinned: never evicted. A file that is foreign, damaged or of a newer
format is refused by name, and the cache stays as it was.

example: qrow import kernels.sqlite --cache /var/lib/engine/qrow.sqlite
)";

constexpr const char* kMergeUsage =
    R"(usage: qrow merge OUT IN... [--arch LIST] [--model config.json] [--only kernels|tuning]

Joins exports (of the shards of a prewarm, say) into one. The order of the inputs does not matter: the same rows give the
same bytes. A damaged or foreign input is refused by name; an OUT that is there already is replaced only if it is empty
or a qrow file that nobody uses.

example: qrow merge all.sqlite shard1.sqlite shard2.sqlite
)";

int report(const char* verb, const std::string& file, const CacheReport& report, Output& output) {
  for (const std::string& note : report.notes) output.error("{}", note);
  JsonObject record;
  record.add("file", file)
      .add("kernels", report.kernels)
      .add("tunings", report.tunings)
      .add("bad", report.bad);
  output.record(record.add("cubin_bytes", report.bytes));
  output.line("{} {}: {} kernels ({}), {} tuning records{}", verb, file, report.kernels,
              format_bytes(report.bytes), report.tunings,
              report.bad > 0 ? fmt::format(", {} damaged rows left out", report.bad) : "");
  return report.bad > 0 ? kExitFailed : kExitDone;
}

// Exports the rows of the export `from` that the filter takes.
CacheReport export_part(const std::string& from, const std::string& to, const CacheFilter& filter,
                        Output& output) {
  StoreOptions options;
  options.path = from;
  options.read_only = true;
  options.log = output.log();
  std::unique_ptr<KernelStore> store = KernelStore::open(options, true);
  return export_cache(*store, to, resolve_filter(filter, *store));
}

void require_file(const std::string& path) {
  if (!file_exists(path)) fail(Status::invalid_argument, "there is no file {}", path);
}

int run_export(Arguments& arguments, Output& output) {
  CacheFilter filter = cache_filter(arguments);
  std::unique_ptr<KernelStore> store = open_cache(arguments, output, true);
  std::string file = arguments.words(1, 1, fmt::format("qrow export FILE {}", kFilters))[0];
  return report("exported to", file, export_cache(*store, file, resolve_filter(filter, *store)),
                output);
}

int run_import(Arguments& arguments, Output& output) {
  CacheFilter filter = cache_filter(arguments);
  std::string cache = arguments.value("--cache").value_or("");
  std::string file = arguments.words(1, 1, fmt::format("qrow import FILE {}", kFilters))[0];
  require_file(file);
  std::unique_ptr<KernelStore> store = open_cache(cache, output, false);
  if (filter.takes_all()) return report("imported", file, import_cache(*store, file), output);
  const ScratchFolder folder(store->path() + ".filter-");
  const std::string part = folder.file("part.sqlite");
  export_part(file, part, filter, output);
  return report("imported", file, import_cache(*store, part), output);
}

int run_merge(Arguments& arguments, Output& output) {
  CacheFilter filter = cache_filter(arguments);
  arguments.value("--cache");  // every command takes it; a merge needs none
  std::vector<std::string> files =
      arguments.words(2, 10'000, fmt::format("qrow merge OUT IN... {}", kFilters));
  std::string out = files[0];
  files.erase(files.begin());
  for (const std::string& file : files) require_file(file);
  if (filter.takes_all()) return report("merged into", out, merge_caches(out, files), output);
  check_export_place(out);
  const ScratchFolder folder(out + ".filter-");
  const std::string whole = folder.file("part.sqlite");
  merge_caches(whole, files);
  return report("merged into", out, export_part(whole, out, filter, output), output);
}

}  // namespace

extern const Command kExportCommand;
const Command kExportCommand = {"export", "write the cache into one file", kExportUsage,
                                run_export};
extern const Command kImportCommand;
const Command kImportCommand = {"import", "add an export to the cache", kImportUsage, run_import};
extern const Command kMergeCommand;
const Command kMergeCommand = {"merge", "join exports into one", kMergeUsage, run_merge};

}  // namespace qrow
