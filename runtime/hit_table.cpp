#include "runtime/hit_table.hpp"

#include <cstdint>
#include <cstring>

namespace qrow {
namespace {

constexpr std::size_t kFirstSlots = 64;

static_assert(sizeof(qrow_spec) % 8 == 0, "the spec is hashed in words of 8 bytes");
static_assert(sizeof(qrow_spec) == 18 * sizeof(std::int32_t),
              "padding would take part in the comparison");

std::size_t hash_of(const qrow_spec& spec) {
  std::uint64_t words[sizeof(qrow_spec) / 8];
  std::memcpy(words, &spec, sizeof(words));
  std::uint64_t hash = 0;
  for (const std::uint64_t word : words) {
    hash = (hash ^ word) * 0x9E3779B97F4A7C15U;
    hash ^= hash >> 32;
  }
  return hash;
}

}  // namespace

SpecPicks::SpecPicks(const qrow_spec& raw, const Spec& spec)
    : raw_(raw), spec_(spec), picks_(all_buckets(spec).size()) {}

const Pick& SpecPicks::publish(std::size_t bucket, std::shared_ptr<const Pick> pick) {
  if (const Pick* earlier = at(bucket)) return *earlier;
  const Pick* ready = pick.get();
  owned_.push_back(std::move(pick));
  picks_[bucket].store(ready, std::memory_order_release);
  return *ready;
}

const Pick* SpecPicks::nearest(const Bucket& bucket) const {
  const Pick* found = nullptr;
  long long least = 0;
  const std::vector<Bucket> buckets = all_buckets(spec_);
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    const Pick* pick = at(i);
    if (pick == nullptr) continue;
    const long long away = distance(buckets[i], bucket);
    if (found != nullptr && away >= least) continue;
    found = pick;
    least = away;
  }
  return found;
}

HitTable::HitTable() {
  generations_.push_back(std::make_unique<Slots>(kFirstSlots));
  current_.store(generations_.back().get(), std::memory_order_release);
}

SpecPicks* HitTable::find(const qrow_spec& raw) const noexcept {
  const Slots& slots = *current_.load(std::memory_order_acquire);
  for (std::size_t i = hash_of(raw);; ++i) {
    SpecPicks* entry = slots[i & (slots.size() - 1)].load(std::memory_order_acquire);
    if (entry == nullptr || std::memcmp(&entry->raw(), &raw, sizeof(raw)) == 0) return entry;
  }
}

SpecPicks& HitTable::add(const qrow_spec& raw, const Spec& spec) {
  if (SpecPicks* known = find(raw)) return *known;
  entries_.push_back(std::make_unique<SpecPicks>(raw, spec));
  SpecPicks& entry = *entries_.back();
  Slots* slots = generations_.back().get();
  if (2 * entries_.size() <= slots->size()) {
    place(*slots, &entry);
    return entry;
  }
  generations_.push_back(std::make_unique<Slots>(2 * slots->size()));
  for (const auto& each : entries_) place(*generations_.back(), each.get());
  current_.store(generations_.back().get(), std::memory_order_release);
  return entry;
}

void HitTable::place(Slots& slots, SpecPicks* entry) {
  std::size_t i = hash_of(entry->raw());
  while (slots[i & (slots.size() - 1)].load(std::memory_order_relaxed) != nullptr) ++i;
  slots[i & (slots.size() - 1)].store(entry, std::memory_order_release);
}

}  // namespace qrow
