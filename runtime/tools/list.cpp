// `qrow list` and `qrow show`: what is in the cache.
#include <cctype>
#include <ctime>

#include "runtime/tools/command.hpp"
#include "runtime/tools/kernel_rows.hpp"
#include "runtime/tools/shared_arguments.hpp"
#include "templates/families.hpp"

namespace qrow {
namespace {

constexpr const char* kListUsage = R"(usage: qrow list [--arch LIST] [--family NAME]

Prints a line per kernel in the cache: the start of its key, arch, family, registers, spilled bytes, shared memory, size,
whether it is pinned (prewarmed or imported, never evicted), and the request that made it.

example: qrow list --arch sm_90a
)";

constexpr const char* kShowUsage = R"(usage: qrow show KEY

Prints everything about the kernels whose key starts with KEY (hex digits as in 'qrow list'): what the kernel is, word by
word, what it takes of an SM, and which compiler made it when. Exit code 1 if there is none or the keys differ.

example: qrow show 1f3a9c20
)";

std::string read_family(Arguments& arguments) {
  std::string family = arguments.value("--family").value_or("");
  if (family.empty() || family_by_name(family) != nullptr) return family;
  std::string legal;
  for (const Family* each : families())
    legal += (legal.empty() ? "" : ", ") + std::string(each->name());
  fail(Status::invalid_argument, "--family {}: legal are {}", family, legal);
}

int run_list(Arguments& arguments, Output& output) {
  std::vector<std::string> archs = arguments.list("--arch");
  for (std::string& arch : archs) arch = arch_by_name(arch).name;
  std::string family = read_family(arguments);
  std::unique_ptr<KernelStore> store = open_cache(arguments, output, true);
  arguments.words(0, 0, "qrow list [--arch LIST] [--family NAME]");

  if (archs.empty()) archs.emplace_back();
  int count = 0;
  long long bytes = 0;
  for (const std::string& arch : archs) {
    for (const KernelRow& row : store->list(arch, family)) {
      if (count++ == 0)
        output.detail("{:<8}  {:<7} {:<12} {:>4} {:>5} {:>9} {:>9}  {:<6} {}", "key", "arch",
                      "family", "regs", "spill", "smem", "cubin", "pinned", "case");
      bytes += row.cubin_bytes;
      output.line("{}  {:<7} {:<12} {:>4} {:>5} {:>9} {:>9}  {:<6} {}", row.key.hex().substr(0, 8),
                  row.arch, row.family, row.registers, row.spill_bytes,
                  format_bytes(row.smem_bytes), format_bytes(row.cubin_bytes),
                  row.pinned ? "yes" : "no", row.case_line);
      output.record(row_record(row));
    }
  }
  output.detail("{} kernels, {} in {}", count, format_bytes(bytes), store->path());
  return kExitDone;
}

std::string format_time(std::int64_t unix_seconds) {
  std::time_t time = static_cast<std::time_t>(unix_seconds);
  std::tm utc{};
  gmtime_r(&time, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &utc);
  return text;
}

void show_row(const KernelRow& row, Output& output) {
  output.record(row_record(row).add("key_text", row.key_text).add("options", row.options));
  output.line("key        {}", row.key.hex());
  output.line("family     {}", row.family);
  output.line("arch       {}", row.arch);
  output.line("entry      {}", row.entry_name);
  output.line("case       {}", row.case_line.empty() ? "unknown" : row.case_line);
  output.line("registers  {} per thread, {} bytes spilled, {} bytes of stack", row.registers,
              row.spill_bytes, row.stack_bytes);
  output.line("smem       {} bytes per block", row.smem_bytes);
  output.line("cubin      {} bytes", row.cubin_bytes);
  output.line("made       {} by NVRTC {} in {:.0f} ms{}", format_time(row.created_unix),
              row.nvrtc_build, row.compile_ms, row.pinned ? ", pinned" : "");
  output.line("options    {}", row.options);
  output.line("what it is, as the key has it:");
  for (const auto& [name, value] : key_words(row.key_text)) output.line("  {:<28} {}", name, value);
}

int run_show(Arguments& arguments, Output& output) {
  std::unique_ptr<KernelStore> store = open_cache(arguments, output, true);
  std::string prefix = arguments.words(1, 1, "qrow show KEY")[0];
  for (char& digit : prefix)
    digit = static_cast<char>(std::tolower(static_cast<unsigned char>(digit)));
  if (prefix.empty() || prefix.size() > 32 ||
      prefix.find_first_not_of("0123456789abcdef") != std::string::npos)
    fail(Status::invalid_argument,
         "KEY {}: legal are up to 32 hex digits, as 'qrow list' prints them", prefix);
  std::vector<KernelRow> rows = store->find_prefix(prefix);
  if (rows.empty())
    fail(Status::cache, "no kernel in {} has a key that starts with {}", store->path(), prefix);
  for (const KernelRow& row : rows) {
    if (row.key == rows[0].key) continue;
    fail(Status::cache,
         "{} kernels have keys that start with {} ({} and {} among them): give more digits",
         rows.size(), prefix, rows[0].key.hex(), row.key.hex());
  }
  for (const KernelRow& row : rows) show_row(row, output);  // several NVRTC builds of one kernel
  return kExitDone;
}

}  // namespace

extern const Command kListCommand;
const Command kListCommand = {"list", "the kernels in the cache", kListUsage, run_list};
extern const Command kShowCommand;
const Command kShowCommand = {"show", "everything about one kernel in the cache", kShowUsage,
                              run_show};

}  // namespace qrow
