#include "runtime/emulator/fault.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>

namespace qrow::emulator {
namespace {

// From where the templates begin: paths of the machine that compiled say nothing.
std::string short_path(const std::string& line) {
  const std::size_t place = line.rfind("templates/");
  std::string path = place != std::string::npos ? line.substr(place) : line;
  return path.substr(0, path.find(" ("));  // "(discriminator 3)"
}

// Innermost first: FILE:LINE of the address and of the places that it was inlined into.
std::vector<std::string> ask_addr2line(const char* object, unsigned long offset) {
  const std::string command = fmt::format("addr2line -i -e '{}' {:#x} 2>/dev/null", object, offset);
  std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::vector<std::string> lines;
  char buffer[1024];
  while (pipe && std::fgets(buffer, sizeof buffer, pipe.get()) != nullptr) {
    std::string line = buffer;
    while (!line.empty() && line.back() == '\n') line.pop_back();
    if (line.find("??") == std::string::npos) lines.push_back(short_path(line));
  }
  return lines;
}

}  // namespace

const char* fault_name(FaultKind kind) {
  switch (kind) {
    case FaultKind::race:
      return "race";
    case FaultKind::in_flight:
      return "in_flight";
    case FaultKind::uninitialised:
      return "uninitialised";
    case FaultKind::out_of_bounds:
      return "out_of_bounds";
    case FaultKind::misaligned:
      return "misaligned";
    case FaultKind::missing_lane:
      return "missing_lane";
    case FaultKind::wrong_mask:
      return "wrong_mask";
    case FaultKind::divergent:
      return "divergent";
    case FaultKind::deadlock:
      return "deadlock";
    case FaultKind::wrong_barrier:
      return "wrong_barrier";
    case FaultKind::early_read:
      return "early_read";
    case FaultKind::blocks_collide:
      return "blocks_collide";
  }
  return "unknown";
}

bool Report::seen(FaultKind kind, Site first, Site second) {
  const bool is_new = places_.insert({kind, {first, second}}).second;
  if (is_new && faults.size() < kMostFaults) return false;
  ++num_faults;
  return true;
}

void Report::add(FaultKind kind, Site first, Site second, std::string text) {
  ++num_faults;
  places_.insert({kind, {first, second}});
  if (faults.size() < kMostFaults) faults.push_back({kind, std::move(text)});
}

void Report::merge(const Report& other) {
  for (const Fault& fault : other.faults)
    if (faults.size() < kMostFaults) faults.push_back(fault);
  if (schedule.empty() || (clean() && !other.clean())) schedule = other.schedule;
  num_faults += other.num_faults;
  blocks += other.blocks;
  bank_conflicts += other.bank_conflicts;
  shared_accesses += other.shared_accesses;
}

std::string Report::text() const {
  std::string all;
  for (const Fault& fault : faults)
    all += fmt::format("{}: {}\n", fault_name(fault.kind), fault.text);
  if (num_faults > static_cast<long long>(faults.size()))
    all +=
        fmt::format("and {} more of these\n", num_faults - static_cast<long long>(faults.size()));
  if (!all.empty() && !schedule.empty()) all += fmt::format("({})\n", schedule);
  return all;
}

std::string describe_site(Site site) {
  Dl_info info{};
  if (site == nullptr || dladdr(site, &info) == 0 || info.dli_fname == nullptr)
    return fmt::format("{}", site);
  // A return address lies behind its call.
  const unsigned long offset = static_cast<unsigned long>(static_cast<const char*>(site) -
                                                          static_cast<const char*>(info.dli_fbase));
  // An object may be loaded where another was, or be made anew under its name.
  struct stat status {};
  stat(info.dli_fname, &status);
  const auto place = std::tuple(std::string(info.dli_fname), status.st_ino, status.st_mtim.tv_sec,
                                status.st_mtim.tv_nsec, offset);
  static std::map<std::remove_const_t<decltype(place)>, std::string> known;
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  std::string& text = known[place];
  if (!text.empty()) return text;
  for (const std::string& line : ask_addr2line(info.dli_fname, offset - 1)) {
    if (text.empty()) {
      text = line;
    } else if (line.find("templates/") == 0) {
      text += " in " + line;
      break;
    }
  }
  if (text.empty()) text = fmt::format("{}+{:#x}", info.dli_fname, offset);
  return text;
}

bool same_place(Site one, Site other) {
  return one == other || describe_site(one) == describe_site(other);
}

}  // namespace qrow::emulator
