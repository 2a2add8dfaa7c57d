// What emulated device code asks of the emulator: the one interface between a compiled kernel and
// the machine that runs it. Both sides are built from this file.
//
// A method is called by one emulated thread. Those said to be collective return once every named
// lane has called them. `site` is the place in the template, for messages.
#pragma once

namespace qrow::emulator {

using Site = const void*;  // an address inside the kernel's code

struct Index {
  unsigned x = 0, y = 0, z = 0;
};

enum class Shuffle { index, up, down, exclusive_or };
enum class Vote { any, all, ballot };
enum class Reduction { add, smallest, largest, bits_and, bits_or, bits_xor };
enum class Element { bf16, f16 };

class Machine {
 public:
  // Accesses of plain loads and stores: checks alone, the caller moves the bytes. `alignment` is
  // what the hardware asks of the address, in bytes.
  virtual void read(const void* address, unsigned bytes, unsigned alignment, Site site) = 0;
  virtual void write(const void* address, unsigned bytes, unsigned alignment, Site site) = 0;
  virtual int atomic_or(int* address, int bits, Site site) = 0;

  // Shared memory. `type` tells static objects apart.
  virtual char* dynamic_shared() = 0;
  virtual void* static_shared(const void* type, unsigned bytes) = 0;
  virtual unsigned shared_address(const void* pointer, Site site) = 0;
  virtual void store_shared(unsigned smem, const void* data, unsigned bytes, Site site) = 0;

  // Copies of this thread's group; bytes past `valid` become zeros and are not read.
  virtual void cp_async(unsigned smem, const void* global, unsigned bytes, unsigned valid,
                        Site site) = 0;
  virtual void cp_async_commit() = 0;
  virtual void cp_async_wait(unsigned pending) = 0;

  // Barriers (collective).
  virtual void block_barrier(Site site) = 0;
  virtual void named_barrier(int id, int threads, Site site) = 0;
  virtual void warp_barrier(unsigned mask, Site site) = 0;

  // Exchange between the lanes of a warp (collective).
  virtual unsigned long long shuffle(Shuffle mode, unsigned mask, unsigned long long value,
                                     int operand, Site site) = 0;
  // `is_signed` matters to the smallest and the largest.
  virtual unsigned reduce(Reduction what, unsigned mask, unsigned value, bool is_signed,
                          Site site) = 0;
  virtual unsigned vote(Vote mode, unsigned mask, bool predicate, Site site) = 0;

  // Matrix fragments (collective, the whole warp at one site).
  virtual void ldmatrix_x4(unsigned (&r)[4], unsigned smem, bool transposed, Site site) = 0;
  virtual void stmatrix_x4(unsigned smem, const unsigned (&r)[4], bool transposed, Site site) = 0;
  virtual unsigned movmatrix_trans(unsigned r, Site site) = 0;
  virtual void mma_16x8x16(Element type, float (&c)[4], const unsigned (&a)[4], unsigned b0,
                           unsigned b1, Site site) = 0;

  // Programmatic dependent launch.
  virtual void wait_for_previous_kernel() = 0;

 protected:
  ~Machine() = default;
};

// The running thread.
struct Thread {
  Machine* machine = nullptr;
  Index thread, block, block_dim, grid_dim;
};

// What a compiled kernel offers.
struct Entry {
  const char* name;
  unsigned params_bytes;
  bool plain_accesses_seen;  // by the hooks of plain_accesses.hpp
  // Runs one thread. `params` is the kernel's one parameter.
  void (*run)(const void* params);
  // Tells the code where to find the running thread; called once after loading.
  void (*bind)(Thread* const* running);
};

}  // namespace qrow::emulator
