#include "runtime/prewarm.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <thread>
#include <utility>

#include "templates/sources.hpp"

namespace qrow {
namespace {

// Memory of one compilation: 15 to 30 MB were measured, others report hundreds for larger sources.
constexpr long long kBytesPerCompile = 256LL << 20;

long long available_memory_bytes() {
  std::ifstream file("/proc/meminfo");
  for (std::string word; file >> word;) {
    long long kilobytes = 0;
    if (word == "MemAvailable:" && file >> kilobytes) return kilobytes * 1024;
  }
  return 0;
}

// What the buckets of cases come down to, equal choices once. A case with max_rows n asks about the
// buckets of 1 to n rows; cases that differ in max_rows alone share the answers, or a list of n
// such cases would cost n * n (10 s for 512).
class Choices {
 public:
  // In the order of all_buckets(). Throws as choose() does. Valid until the next call.
  std::span<const Choice> of(const Case& c, const Arch& arch) {
    choose(c.spec, arch, bucket_of(c.spec, 0, 0, 0, 0), c.family, c.tuning);  // or says why not
    Answers& answers = answers_[key_of(c, arch)];
    const auto rows = static_cast<std::size_t>(c.spec.max_rows);
    while (answers.num_within.size() < rows) {
      for (const Bucket& bucket : buckets_of_rows(static_cast<int>(answers.num_within.size()) + 1))
        add(choose(c.spec, arch, bucket, c.family, c.tuning), answers.choices);
      answers.num_within.push_back(answers.choices.size());
    }
    return std::span(answers.choices).first(answers.num_within[rows - 1]);
  }

 private:
  struct Answers {
    std::vector<Choice> choices;          // by rows
    std::vector<std::size_t> num_within;  // [n - 1]: of them, for calls of up to n rows
  };

  // max_rows counts only by what it makes the families able to do.
  static std::string key_of(const Case& c, const Arch& arch) {
    Spec spec = c.spec;
    spec.max_rows = 1;
    std::string key = fmt::format("{} {} {} {}", arch.name, format_spec(spec), c.family, c.tuning);
    for (const Verdict& verdict : ask_families(c.spec, arch, bucket_of(c.spec, 0, 0, 0, 0))) {
      if (verdict.support) key += fmt::format(" {}", verdict.family->name());
    }
    return key;
  }

  static void add(Choice&& choice, std::vector<Choice>& choices) {
    if (std::ranges::none_of(choices,
                             [&](const Choice& known) { return same_kernels(known, choice); })) {
      choices.push_back(std::move(choice));
    }
  }

  std::map<std::string, Answers> answers_;
};

std::string line_of(const Case& c) {
  Case kept;
  kept.spec = c.spec;
  kept.family = c.family;
  kept.tuning = c.tuning;
  return format_case(kept);
}

class ItemList {
 public:
  explicit ItemList(const Shard& shard) : shard_(shard) {}

  void add(const Case& c, const Arch& arch) {
    try {
      std::set<Digest> of_this_spec;
      for (const Choice& choice : choices_.of(c, arch)) {
        for (Variant& variant : variants_of(c.spec, choice, arch)) {
          Key key = make_key(variant, template_digest(variant.family));
          if (of_this_spec.insert(key.digest).second)
            add_kernel(c, arch, std::move(variant), std::move(key));
        }
      }
    } catch (const Error& error) {
      add_refusal(c, arch, error);
    }
  }

  std::vector<PrewarmItem> take() { return std::move(items_); }

 private:
  void add_kernel(const Case& c, const Arch& arch, Variant&& variant, Key&& key) {
    const auto [place, first] =
        shard_of_.try_emplace(key.digest, static_cast<int>(shard_of_.size()) % shard_.count);
    if (place->second != shard_.index) return;
    PrewarmItem item;
    item.case_line = line_of(c);
    item.arch = &arch;
    item.family = variant.family;
    item.variant = std::move(variant);
    item.key = std::move(key);
    item.repeats = !first;
    items_.push_back(std::move(item));
  }

  void add_refusal(const Case& c, const Arch& arch, const Error& error) {
    if (shard_.index != 0) return;  // told once, whatever the number of machines
    PrewarmItem item;
    item.case_line = line_of(c);
    item.arch = &arch;
    item.refusal = error.what();
    item.refusal_status = error.status();
    items_.push_back(std::move(item));
  }

  const Shard shard_;
  Choices choices_;
  std::vector<PrewarmItem> items_;
  std::map<Digest, int> shard_of_;
};

class Pool {
 public:
  Pool(KernelProvider& provider, const std::vector<PrewarmItem>& items, const PrewarmRun& run)
      : provider_(provider), items_(items), run_(run) {
    totals_.items = static_cast<int>(items.size());
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (items[i].refusal.empty()) jobs_[items[i].key.digest].push_back(i);
    }
  }

  PrewarmTotals run() {
    const auto begin = std::chrono::steady_clock::now();
    report_refusals();
    for (const PrewarmItem& item : items_) {
      if (item.refusal.empty() && !item.repeats) queue_.push_back(&jobs_.at(item.key.digest));
    }
    const std::size_t wanted =
        static_cast<std::size_t>(run_.threads > 0 ? run_.threads : default_compile_threads());
    std::vector<std::thread> threads;
    for (std::size_t i = 1; i < std::min(wanted, queue_.size()); ++i)
      threads.emplace_back([this] { work(); });
    work();
    for (std::thread& thread : threads) thread.join();
    if (failure_) std::rethrow_exception(failure_);
    totals_.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return totals_;
  }

 private:
  using Job = std::vector<std::size_t>;  // items of one key, the first makes it

  bool stopped() const { return stop_ || (run_.cancel != nullptr && run_.cancel->load()); }

  void report_refusals() {
    for (std::size_t i = 0; i < items_.size(); ++i) {
      if (items_[i].refusal.empty()) continue;
      PrewarmOutcome outcome;
      outcome.status = items_[i].refusal_status;
      outcome.message = items_[i].refusal;
      report(i, outcome);
    }
  }

  void work() {
    try {
      for (std::size_t i = next_++; i < queue_.size(); i = next_++) {
        if (stopped()) {
          std::lock_guard lock(mutex_);
          totals_.cancelled = true;
          return;
        }
        make(*queue_[i]);
      }
    } catch (...) {  // a callback's: nothing else leaves make()
      std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
      stop_ = true;
    }
  }

  void make(const Job& job) {
    PrewarmOutcome outcome = made(items_[job.front()]);
    if (outcome.status == Status::cancelled) {
      std::lock_guard lock(mutex_);
      totals_.cancelled = true;
      return;
    }
    report(job.front(), outcome);
    if (outcome.status == Status::ok) {
      outcome.source = Source::memory;
      outcome.compile_ms = 0;
    }
    for (std::size_t i = 1; i < job.size(); ++i) report(job[i], outcome);
  }

  PrewarmOutcome made(const PrewarmItem& item) {
    PrewarmOutcome outcome;
    KernelProvider::Request request;
    request.variant = &item.variant;
    request.case_line = item.case_line;
    request.pinned = true;
    request.refresh = run_.refresh;
    request.cancel = run_.cancel;
    try {
      const std::shared_ptr<const Cubin> cubin = provider_.get(request);
      const KernelRow& row = cubin->row;
      outcome.source = cubin->source;
      outcome.registers = row.registers;
      outcome.spill_bytes = row.spill_bytes;
      outcome.stack_bytes = row.stack_bytes;
      outcome.smem_bytes = row.smem_bytes;
      outcome.cubin_bytes = static_cast<std::int64_t>(row.cubin.size());
      outcome.compile_ms = cubin->source == Source::compiled ? row.compile_ms : 0;
    } catch (const Error& error) {
      outcome.status = error.status();
      outcome.message = error.what();
    }
    return outcome;
  }

  void report(std::size_t index, PrewarmOutcome outcome) {
    std::lock_guard lock(mutex_);
    count(outcome);
    outcome.index = static_cast<int>(index);
    outcome.done = ++done_;
    outcome.count = totals_.items;
    outcome.item = &items_[index];
    if (run_.on_item) run_.on_item(outcome);
  }

  void count(const PrewarmOutcome& outcome) {
    if (outcome.status != Status::ok) {
      ++totals_.failed;
      if (totals_.first_failure == Status::ok) {
        totals_.first_failure = outcome.status;
        totals_.first_message = outcome.message;
      }
      return;
    }
    if (outcome.source == Source::memory) {
      ++totals_.memory;
      return;
    }
    ++(outcome.source == Source::compiled ? totals_.compiled : totals_.hits);
    totals_.cubin_bytes += outcome.cubin_bytes;
  }

  KernelProvider& provider_;
  const std::vector<PrewarmItem>& items_;
  const PrewarmRun& run_;
  std::map<Digest, Job> jobs_;
  std::vector<const Job*> queue_;
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> stop_{false};
  std::mutex mutex_;  // of what follows, and held during callbacks
  PrewarmTotals totals_;
  int done_ = 0;
  std::exception_ptr failure_;
};

}  // namespace

int default_compile_threads() {
  const long long cores = std::max(1U, std::thread::hardware_concurrency());
  const long long memory = available_memory_bytes();
  return static_cast<int>(memory > 0 ? std::clamp(memory / kBytesPerCompile, 1LL, cores) : cores);
}

std::vector<PrewarmItem> list_prewarm(const std::vector<Case>& cases,
                                      const std::vector<const Arch*>& archs, const Shard& shard) {
  if (shard.count < 1 || shard.index < 0 || shard.index >= shard.count) {
    fail(Status::invalid_argument, "shard {}/{} was asked for: give i/n with 0 <= i < n",
         shard.index, shard.count);
  }
  ItemList list(shard);
  for (const Arch* arch : archs) {
    for (const Case& c : cases) list.add(c, *arch);
  }
  return list.take();
}

PrewarmTotals prewarm(KernelProvider& provider, const std::vector<PrewarmItem>& items,
                      const PrewarmRun& run) {
  return Pool(provider, items, run).run();
}

}  // namespace qrow
