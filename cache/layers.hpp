// Read-only seed files over the user's cache file. Seeds are asked in order, then the user's file;
// a seed hit is never copied into the user's file.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cache/kernel_store.hpp"

namespace qrow {

class Layers {
 public:
  // `user` may be null (cache off).
  Layers(std::vector<std::unique_ptr<KernelStore>> seeds, std::unique_ptr<KernelStore> user);

  struct Hit {
    KernelRow row;
    bool from_seed = false;
    std::string path;
  };
  // All rows of the key in the order in which they should be tried.
  std::vector<Hit> find(const Digest& key, const std::string& text);

  KernelStore* user() { return user_.get(); }
  const std::vector<std::unique_ptr<KernelStore>>& seeds() const { return seeds_; }

 private:
  std::vector<std::unique_ptr<KernelStore>> seeds_;
  std::unique_ptr<KernelStore> user_;
};

}  // namespace qrow
