#include "runtime/tools/prewarm_request.hpp"

#include <algorithm>

#include "runtime/tools/shared_arguments.hpp"
#include "runtime/tools/workbench_cases.hpp"

namespace qrow {
namespace {

constexpr int kMostShards = 100'000;

// Options that shape a model's specs; nothing else takes them.
struct ModelOptions {
  ModelSplit split;
  std::string given;  // the first one given, "" if none
};

ModelOptions read_model_options(Arguments& arguments) {
  ModelOptions options;
  auto ranges = [&](const char* name, int high, std::vector<int>* numbers) {
    std::optional<std::string> text = arguments.value(name);
    if (!text) return;
    *numbers = parse_int_ranges(name, *text, 1, high);
    if (options.given.empty()) options.given = name;
  };
  ranges("--tp", 1024, &options.split.tensor_parallel);
  ranges("--rows", 1024, &options.split.rows);
  ranges("--page", 1 << 24, &options.split.page_sizes);
  std::vector<std::string> kv = arguments.list("--kv");
  options.split.kv_dtypes = parse_kv_dtypes(kv);
  if (!kv.empty() && options.given.empty()) options.given = "--kv";
  return options;
}

void add_models(const std::vector<std::string>& paths, const ModelSplit& split,
                PrewarmRequest* request) {
  for (const std::string& path : paths) {
    Model model = read_model(path);
    std::vector<Case> cases = model_cases(model, split);
    request->cases.insert(request->cases.end(), cases.begin(), cases.end());
    request->models.push_back(std::move(model));
  }
}

}  // namespace

Shard parse_shard(std::string_view text) {
  std::size_t slash = text.find('/');
  if (slash != std::string_view::npos) {
    try {
      int count = parse_int_ranges("--shard", text.substr(slash + 1), 1, kMostShards).at(0);
      int index = parse_int_ranges("--shard", text.substr(0, slash), 1, count).at(0);
      return {.index = index - 1, .count = count};
    } catch (const Error&) {
      // Told below, for the whole value.
    }
  }
  fail(Status::invalid_argument,
       "--shard {}: legal is i/n with i from 1 to n (1/4, 2/4, 3/4, 4/4), n at most {}", text,
       kMostShards);
}

std::vector<int> parse_kv_dtypes(const std::vector<std::string>& words) {
  std::vector<int> dtypes;
  for (const std::string& word : words) {
    // The case line is the one place that knows the names.
    try {
      dtypes.push_back(parse_case("heads=1/1 kv=" + word).spec.kv_dtype);
    } catch (const Error& error) {
      fail(Status::invalid_argument, "--kv: {}", error.what());
    }
  }
  return dtypes;
}

PrewarmRequest prewarm_request(Arguments& arguments, Output& output) {
  PrewarmRequest request;
  request.provider = provider_options(arguments, output);
  ModelOptions options = read_model_options(arguments);
  std::vector<std::string> models = arguments.values("--model");
  std::vector<std::string> files = arguments.values("--cases");
  if (std::optional<std::string> shard = arguments.value("--shard"))
    request.shard = parse_shard(*shard);
  request.threads = arguments.integer("--jobs", 0, 1, 1024);
  request.dry_run = arguments.flag("--dry-run");
  request.refresh = arguments.flag("--refresh");
  if (arguments.flag("--from-tuning"))
    output.note("--from-tuning: this version has no tuning records, so there are no picks to add");

  const std::vector<std::string> archs = arguments.list("--arch");
  std::vector<std::string> words = arguments.words();
  if (models.empty() && words.empty() && files.empty())
    fail(Status::invalid_argument,
         "nothing to compile: give cases (\"heads=64/8 rows=4\"), --cases FILE or --model FILE");
  if (models.empty() && !options.given.empty())
    fail(Status::invalid_argument,
         "{} goes with --model; in a case the words are rows=, kv=, page=", options.given);
  if (!words.empty() || !files.empty()) request.cases = cases_from(words, files);
  add_models(models, options.split, &request);
  request.archs = archs_from(archs);
  return request;
}

}  // namespace qrow
