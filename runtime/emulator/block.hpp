// One block of an emulated grid: its threads as fibers, its shared memory, its barriers, and what
// the threads of a warp do together. Runs on one operating-system thread; used again for the next
// block.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "runtime/emulator/bank_conflicts.hpp"
#include "runtime/emulator/clock.hpp"
#include "runtime/emulator/fiber.hpp"
#include "runtime/emulator/launch.hpp"
#include "runtime/emulator/shared_memory.hpp"

namespace qrow::emulator {

// What costs much to make and serves for all launches of a grid.
struct BlockStorage {
  SharedMemory shared;
  std::unique_ptr<StackPool> stacks;  // of at least as many threads as the last launch had
};

class Block final : public Machine {
 public:
  // Threads run by this machine find themselves through `*running`.
  Block(BlockStorage& storage, Memory& memory, const Launch& launch, std::uint32_t launch_number,
        Thread** running, Report* report);
  ~Block();

  // Runs the block to its end, or until it cannot go on (false); what is wrong goes to the report.
  bool run(Index index);

  // Machine:
  void read(const void* address, unsigned bytes, unsigned alignment, Site site) override;
  void write(const void* address, unsigned bytes, unsigned alignment, Site site) override;
  int atomic_or(int* address, int bits, Site site) override;
  char* dynamic_shared() override;
  void* static_shared(const void* type, unsigned bytes) override;
  unsigned shared_address(const void* pointer, Site site) override;
  void store_shared(unsigned smem, const void* data, unsigned bytes, Site site) override;
  void cp_async(unsigned smem, const void* global, unsigned bytes, unsigned valid,
                Site site) override;
  void cp_async_commit() override;
  void cp_async_wait(unsigned pending) override;
  void block_barrier(Site site) override;
  void named_barrier(int id, int threads, Site site) override;
  void warp_barrier(unsigned mask, Site site) override;
  unsigned long long shuffle(Shuffle mode, unsigned mask, unsigned long long value, int operand,
                             Site site) override;
  unsigned reduce(Reduction what, unsigned mask, unsigned value, bool is_signed,
                  Site site) override;
  unsigned vote(Vote mode, unsigned mask, bool predicate, Site site) override;
  void ldmatrix_x4(unsigned (&r)[4], unsigned smem, bool transposed, Site site) override;
  void stmatrix_x4(unsigned smem, const unsigned (&r)[4], bool transposed, Site site) override;
  unsigned movmatrix_trans(unsigned r, Site site) override;
  void mma_16x8x16(Element type, float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1,
                   Site site) override;
  void wait_for_previous_kernel() override;

 private:
  struct Copy {
    unsigned smem;
    const char* global;
    unsigned bytes, valid;
    Site site;
  };
  struct Lane {
    explicit Lane(int index) : clock(index) {}
    Thread thread;
    Fiber fiber;
    Clock clock;
    const char* waits_for = "";  // what it waits for, while it does
    Site waits_at = nullptr;
    bool previous_done = false;            // has waited for the previous kernel
    std::deque<std::vector<Copy>> groups;  // committed, oldest first; the last one is open
  };
  // An operation that the lanes of `mask` do together, once all have come.
  struct Meeting {
    const char* name = "";
    unsigned mask = 0, arrived = 0;
    Site site = nullptr;
    std::array<void*, 32> operands{};
  };
  struct Warp {
    unsigned alive = ~0u;  // lanes that have not ended
    unsigned ready = ~0u;  // lanes that can go on
    std::vector<Meeting> meetings;
    BankConflicts conflicts;
    Site at_barrier = nullptr;  // of __syncthreads, while a lane waits there
  };
  struct Barrier {
    int threads = 0;  // of a named barrier: how many are expected
    Site site = nullptr;
    std::vector<int> waiting;
  };

  Lane& self() { return *lanes_[static_cast<std::size_t>(current_)]; }
  Warp& warp() { return warps_[static_cast<std::size_t>(current_ / 32)]; }
  int lane_index() const { return current_ % 32; }

  void start(Index index);
  void run_threads();
  int next_ready();
  void resume(int thread);
  void end_thread();
  void report_deadlock();
  void wait(const char* what, Site site);
  void wake(int thread) {
    warps_[static_cast<std::size_t>(thread / 32)].ready |= 1u << thread % 32;
  }
  std::string block_name() const;  // "block 3", "block (0, 1, 0)"
  std::string who() const;         // "block 3, thread 17"
  [[noreturn]] void stop(FaultKind kind, Site site, Site other, const std::string& text);

  // `operand` is seen by the lane that comes last, which calls resolve(operands, mask).
  template <typename Operand, typename Resolve>
  void meet(const char* name, unsigned mask, bool aligned, Operand& operand, Site site,
            Resolve resolve);
  Meeting* find_meeting(const char* name, unsigned mask, bool aligned, Site site);
  void leave_meeting(Meeting* meeting);

  void pass_barrier(Barrier& barrier);
  bool block_barrier_complete() const;
  static std::array<char, 16> bytes_of(const Copy& copy);
  void land(const Copy& copy);
  void land_some();
  enum class Use { read, write, atomic };
  void check_global(const void* address, unsigned bytes, unsigned alignment, Use use, Site site);
  void access(const void* address, unsigned bytes, unsigned alignment, Use use, Site site);
  void check_early(const Memory::Words& words, const void* address, Use use, Site site);
  void check_collision(Memory::Word& word, const void* address, Use use, Site site);

  Memory& memory_;
  const Launch& launch_;
  const std::uint32_t launch_number_;
  Thread** running_;
  Report* report_;
  StackPool& stacks_;
  SharedMemory& shared_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::vector<Warp> warps_;
  std::array<Barrier, 16> barriers_;
  std::mt19937_64 random_;
  Index index_;
  std::uint32_t block_number_ = 0;
  int current_ = 0;
  int next_ = 0;
  std::size_t num_alive_ = 0;
  bool stopped_ = false;
};

}  // namespace qrow::emulator
