#include "cache/layers.hpp"

#include <utility>

namespace qrow {

Layers::Layers(std::vector<std::unique_ptr<KernelStore>> seeds, std::unique_ptr<KernelStore> user)
    : seeds_(std::move(seeds)), user_(std::move(user)) {}

std::vector<Layers::Hit> Layers::find(const Digest& key, const std::string& text) {
  std::vector<Hit> hits;
  const auto ask = [&](KernelStore& store, bool is_seed) {
    for (KernelRow& row : store.find(key, text))
      hits.push_back({std::move(row), is_seed, store.path()});
  };
  for (const auto& seed : seeds_) ask(*seed, true);
  if (user_) ask(*user_, false);
  return hits;
}

}  // namespace qrow
