// `qrow env`: every environment variable, and what this machine has: NVRTC, driver, devices; what
// was looked for where.
#include "runtime/base/env.hpp"

#include "cache/cache_path.hpp"
#include "jit/arch.hpp"
#include "jit/nvrtc.hpp"
#include "jit/nvrtc_search.hpp"
#include "runtime/driver/device.hpp"
#include "runtime/tools/command.hpp"

namespace qrow {
namespace {

constexpr const char* kUsage = R"(usage: qrow env

Prints every environment variable that qrow reads with its value, default and meaning; the cache file; the compiler
(NVRTC) with its version, or where it was looked for; the driver and its devices, or what is missing. With --json one
object each, told apart by their first field. Exit code 0 whatever is missing.

example: QROW_LOG=info qrow env
)";

void show_variables(Output& output) {
  output.line("environment variables");
  for (const EnvVariable& variable : env_variables()) {
    std::optional<std::string> value = env(variable.name);
    output.line("  {:<13} {:<34} {}", variable.name,
                value ? "= " + *value : fmt::format("not set ({})", variable.default_text),
                variable.meaning);
    const std::string complaint = env_complaint(variable.name);
    if (!complaint.empty()) output.line("  {:<13} wrong: {}", "", complaint);
    JsonObject record;
    record.add("variable", variable.name)
        .add("set", value.has_value())
        .add("value", value.value_or(""));
    output.record(record.add("default", variable.default_text)
                      .add("meaning", variable.meaning)
                      .add("wrong", complaint));
  }
}

void show_cache(const std::string& given, Output& output) {
  std::string path = resolve_cache_path(given);
  output.line("cache");
  output.line("  {}",
              path.empty() ? "none: this user has no home folder and QROW_CACHE is not set" : path);
  JsonObject record;
  output.record(record.add("cache", path));
}

void show_nvrtc(Output& output) {
  std::string why;
  const Nvrtc* nvrtc = Nvrtc::try_get(&why);
  JsonObject record;
  output.line("compiler (NVRTC)");
  if (nvrtc != nullptr) {
    std::string archs;
    for (int arch : nvrtc->supported_archs())
      archs += fmt::format("{}{}", archs.empty() ? "" : " ", arch);
    output.line("  {} from {}, compiles for {}", nvrtc->build(), nvrtc->path(), archs);
    record.add("nvrtc", nvrtc->build()).add("path", nvrtc->path()).add("archs", archs);
  } else {
    output.line("  not found: {}", why);
    record.add("nvrtc", "").add("why", why);
  }
  std::vector<std::string> places;
  output.line("  looked for, in this order:");
  for (const NvrtcPlace& place : nvrtc_places(NvrtcSurroundings::of_process())) {
    std::string files;
    for (const std::string& file : place.files) files += (files.empty() ? "" : ", ") + file;
    places.push_back(fmt::format("{}: {}", place.what, files.empty() ? "nothing there" : files));
    output.line("    {}", places.back());
  }
  output.record(record.add("places", places));
}

void show_device(const DeviceInfo& device, Output& output) {
  std::string archs;
  for (const Arch* arch : loadable_archs(device.major, device.minor))
    archs += (archs.empty() ? "" : " ") + std::string(arch->name);
  output.line("  device {}: {}, compute capability {}.{}, {} SMs, {} of memory, {} of L2; loads {}",
              device.ordinal, device.name, device.major, device.minor, device.num_sms,
              format_bytes(device.memory_bytes), format_bytes(device.l2_bytes),
              archs.empty() ? "none of qrow's archs" : archs);
  JsonObject record;
  record.add("device", device.ordinal).add("name", device.name);
  record.add("compute_capability", fmt::format("{}.{}", device.major, device.minor))
      .add("sms", device.num_sms);
  record.add("memory_bytes", device.memory_bytes)
      .add("l2_bytes", device.l2_bytes)
      .add("archs", archs);
  output.record(record);
}

void show_driver(Output& output) {
  std::string why;
  const Driver* driver = Driver::try_get(&why);
  output.line("driver");
  JsonObject record;
  if (driver == nullptr) {
    output.line("  none: {}", why);
    output.record(record.add("driver", "").add("why", why));
    return;
  }
  std::string version =
      fmt::format("{}.{}", driver->version() / 1000, driver->version() % 1000 / 10);
  output.line("  CUDA {} from {}", version, driver->path());
  output.record(record.add("driver", version).add("path", driver->path()));
  for (int ordinal = 0; ordinal < device_count(*driver); ++ordinal)
    show_device(query_device(*driver, ordinal), output);
}

int run(Arguments& arguments, Output& output) {
  std::string cache = arguments.value("--cache").value_or("");
  arguments.words(0, 0, "qrow env");
  show_variables(output);
  show_cache(cache, output);
  show_nvrtc(output);
  show_driver(output);
  return kExitDone;
}

}  // namespace

extern const Command kEnvCommand;
const Command kEnvCommand = {"env", "environment variables, compiler, driver, devices", kUsage,
                             run};

}  // namespace qrow
