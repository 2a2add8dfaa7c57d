#include "runtime/plan.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace qrow {

std::size_t workspace_bytes_over(const std::vector<Geometry>& geometries, GridQuery query) {
  if (query.batch < 0)
    fail(Status::invalid_argument, "batch is {}: it must be at least 0", query.batch);
  if (query.max_kv_len < 0)
    fail(Status::invalid_argument, "max_kv_len is {}: it must be at least 0", query.max_kv_len);
  query.max_kv_len = std::min<long long>(query.max_kv_len, std::numeric_limits<int>::max());
  long long most = 0;
  for (const Geometry& geometry : geometries)
    most = std::max(most, workspace_bytes_of(geometry, query));
  return static_cast<std::size_t>(most);
}

Plan::Plan(const Spec& spec, std::shared_ptr<LaunchTarget> target,
           std::vector<std::shared_ptr<const Pick>> picks, int splits, std::size_t described)
    : spec_(spec),
      target_(std::move(target)),
      picks_(std::move(picks)),
      splits_(splits),
      described_(described) {}

std::size_t Plan::workspace_bytes(int batch, long long max_kv_len) const {
  std::vector<Geometry> geometries;
  for (const auto& pick : picks_) geometries.push_back(pick->launch.geometry);
  return workspace_bytes_over(
      geometries, {target_->num_sms, spec_.num_kv_heads, batch, max_kv_len, splits_, 0});
}

void Plan::run(const qrow_args& args, void* workspace, std::size_t workspace_bytes,
               CUstream stream) const {
  const CheckedArgs checked = check_args(spec_, args);
  std::size_t bucket = 0;
  if (picks_.size() > 1) {
    bucket = bucket_index(bucket_of(spec_, args.batch, args.max_kv_len, checked.rows, args.window));
  }
  qrow::run(*target_, spec_, picks_[bucket]->launch, checked, splits_, workspace, workspace_bytes,
            stream);
}

}  // namespace qrow
