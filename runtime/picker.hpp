// From a spec and a bucket to a pick that is ready to launch: chooses, then has the kernels made
// and loaded. The slow path of contexts and plans; any thread may use it.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/kernel_loader.hpp"
#include "runtime/plan.hpp"

namespace qrow {

struct PickRequest {
  Spec spec;
  Bucket bucket;
  std::string family;  // forced, or ""
  std::string tuning;
};

class Picker {
 public:
  // `archs`: those whose cubins the device loads, best first. With `cache_only` a pick whose
  // kernels are all in the cache stands in for one whose kernels are not.
  Picker(KernelLoader& loader, std::vector<const Arch*> archs, int num_sms, bool cache_only)
      : loader_(loader), archs_(std::move(archs)), num_sms_(num_sms), cache_only_(cache_only) {}

  // Compiles if need be. Throws what choose() and KernelProvider::get throw.
  std::shared_ptr<const Pick> pick(const PickRequest& request);
  // Null unless every kernel of the pick was loaded before: for calls under stream capture.
  std::shared_ptr<const Pick> pick_loaded(const PickRequest& request);
  // The picks of all_buckets(), in that order; equal choices share one.
  std::vector<std::shared_ptr<const Pick>> pick_all(const Spec& spec);
  // Throws Error(not_cached) naming the first kernel of this request that is missing, and how to
  // make it.
  [[noreturn]] void refuse_under_capture(const PickRequest& request);

 private:
  struct Candidate {
    const Arch* arch = nullptr;
    Choice choice;
  };
  Candidate candidate(const PickRequest& request);
  bool is_made(const Spec& spec, const Candidate& candidate);
  bool find_stand_in(const PickRequest& request, Candidate& candidate);
  std::shared_ptr<const Pick> make(const PickRequest& request, const Candidate& candidate);

  KernelLoader& loader_;
  const std::vector<const Arch*> archs_;
  const int num_sms_;
  const bool cache_only_;
};

// Of every attention kernel that may serve this spec by default, equal ones once: what a workspace
// must suffice for. Throws Error(unsupported) where no family is able.
std::vector<Geometry> serving_geometries(const Spec& spec, const std::vector<const Arch*>& archs);

}  // namespace qrow
