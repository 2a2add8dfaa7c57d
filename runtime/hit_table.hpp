// The in-memory table behind qrow_decode: from the caller's own spec bytes and a bucket to a pick
// that is ready to launch.
//
// Reading takes no lock and follows three atomic pointers. Writing is for one thread at a time (the
// context's miss path holds its lock). Entries live as long as the table, so a reader never sees
// one disappear.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include "runtime/plan.hpp"

namespace qrow {

// The picks of one spec, one place a bucket, filled on demand.
class SpecPicks {
 public:
  SpecPicks(const qrow_spec& raw, const Spec& spec);

  const qrow_spec& raw() const { return raw_; }
  const Spec& spec() const { return spec_; }
  std::size_t size() const { return picks_.size(); }
  const Pick* at(std::size_t bucket) const {
    return picks_[bucket].load(std::memory_order_acquire);
  }
  // One writer at a time. Returns the pick that is there afterwards: an earlier one stays.
  const Pick& publish(std::size_t bucket, std::shared_ptr<const Pick> pick);
  // The pick of the bucket that is least far from `bucket`; null if there is none yet.
  const Pick* nearest(const Bucket& bucket) const;

 private:
  const qrow_spec raw_;
  const Spec spec_;
  std::vector<std::atomic<const Pick*>> picks_;
  std::vector<std::shared_ptr<const Pick>> owned_;
};

class HitTable {
 public:
  HitTable();
  // `raw` as the caller gave it, struct_size whole. Null if this spec was not seen before.
  SpecPicks* find(const qrow_spec& raw) const noexcept;
  // One writer at a time.
  SpecPicks& add(const qrow_spec& raw, const Spec& spec);

 private:
  using Slots = std::vector<std::atomic<SpecPicks*>>;  // open addressing, at most half full, a
                                                       // power of two long
  static void place(Slots& slots, SpecPicks* entry);

  std::atomic<const Slots*> current_;
  std::vector<std::unique_ptr<Slots>> generations_;  // the older ones may still be read
  std::vector<std::unique_ptr<SpecPicks>> entries_;
};

}  // namespace qrow
