#include "cache/fork_guard.hpp"

#include <pthread.h>

#include <memory>
#include <mutex>
#include <vector>

namespace qrow {
namespace {

struct Registry {
  std::mutex mutex;
  std::vector<ForkGuarded*> guarded;
  std::vector<ForkGuarded*> held;  // between the handlers of one fork
};

void before_fork();
void after_fork_in_parent();
void after_fork_in_child();

// The one process-wide object of cache/, because fork is process-wide. Never destroyed: a store may
// outlive every static object of this library.
Registry& registry() {
  static Registry* const instance = [] {
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    return std::make_unique<Registry>().release();
  }();
  return *instance;
}

void before_fork() {
  Registry& all = registry();
  all.mutex.lock();
  for (ForkGuarded* guarded : all.guarded) {
    if (guarded->before_fork()) all.held.push_back(guarded);
  }
}

void after_fork_in_parent() {
  Registry& all = registry();
  for (ForkGuarded* guarded : all.held) guarded->after_fork_in_parent();
  all.held.clear();
  all.mutex.unlock();
}

void after_fork_in_child() {
  Registry& all = registry();
  for (ForkGuarded* guarded : all.held) guarded->after_fork_in_child();
  all.held.clear();
  all.mutex.unlock();
}

}  // namespace

ForkGuard::ForkGuard(ForkGuarded& guarded) : guarded_(guarded) {
  Registry& all = registry();
  std::lock_guard lock(all.mutex);
  all.guarded.push_back(&guarded_);
}

ForkGuard::~ForkGuard() {
  Registry& all = registry();
  std::lock_guard lock(all.mutex);
  std::erase(all.guarded, &guarded_);
}

}  // namespace qrow
