// Closes database connections before a fork. Private to cache/.
//
// A connection must not be carried into a child: sqlite keeps a record of a file's locks for the
// whole process, and a child inherits the record without the locks; even a connection that it opens
// itself would then believe in them. So every connection is closed before a fork, and parent and
// child open their own when they next need one.
#pragma once

namespace qrow {

class ForkGuarded {
 public:
  // Called around fork(), in the forking thread. before_fork() leaves the object locked until one
  // of the others is called; false if it could not be locked in time: then nothing more happens to
  // it.
  virtual bool before_fork() noexcept = 0;
  virtual void after_fork_in_parent() noexcept = 0;
  virtual void after_fork_in_child() noexcept = 0;

 protected:
  ~ForkGuarded() = default;
};

// Registers an object as long as it lives: the last member of that object. The end waits for a fork
// in progress.
class ForkGuard {
 public:
  explicit ForkGuard(ForkGuarded& guarded);
  ~ForkGuard();
  ForkGuard(const ForkGuard&) = delete;
  ForkGuard& operator=(const ForkGuard&) = delete;

 private:
  ForkGuarded& guarded_;
};

}  // namespace qrow
