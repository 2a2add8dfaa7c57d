// The way of the whole-file operations into a store: unlike calls, they may fail. Private to
// cache/.
#pragma once

#include <functional>

#include "cache/kernel_store.hpp"
#include "cache/sqlite.hpp"

namespace qrow {

struct StoreAccess {
  // As Session::read and write, but throws Error(cache) where those return false.
  static void read(KernelStore& store, const std::function<void(sqlite::Database&)>& body);
  static void write(KernelStore& store, const std::function<void(sqlite::Database&)>& body);
  static const StoreOptions& options(const KernelStore& store);
};

}  // namespace qrow
