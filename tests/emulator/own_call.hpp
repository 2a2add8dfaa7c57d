// A call whose tensors a test lays out and fills itself: any strides, tables and values, where a
// case line knows only the usual ones. Device memory is host memory here, so a test reads and
// writes it through the pointers of `args`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/emulator/emulated.hpp"

namespace qrow {

class OwnCall {
 public:
  // Makes the kernels of a case line and lays its tensors out; allocates nothing yet. Every stride
  // is padded, V's differ from K's, and tables have no entry to spare.
  OwnCall(Emulated& device, const std::string& line);

  const Case& description() const { return case_; }
  // Before allocate(), strides may be changed; after it, everything else.
  qrow_args args{};
  std::vector<int> lens;
  std::vector<int> table, v_table;  // [batch, pages of the longest]: of K, and V's own if not empty
  // V's pages are the same slots in another order.
  void give_v_its_own_table();

  // Every tensor ends with its last byte. Values are random, slots without a token NaN. Throws
  // Error(out_of_memory).
  void allocate();
  // One element of a kind: random sign and mantissa, magnitude from 1/4 to 2.
  static unsigned random_bits(int dtype, std::uint64_t& state);

  char* q(long long row, int head) const;
  char* out(long long row, int head) const;

  // Runs, and compares with float64: "" where all is well, else what is wrong.
  std::string check();
  void run();
  std::string compare_with_float64() const;

 private:
  struct Pool {
    std::int64_t page, token, head;
  };
  void fill_pool(DeviceBuffer& buffer, const Pool& strides, const std::vector<int>& pages);
  bool has_padding_touched() const;
  int pages_of(int request) const;
  long long rows() const { return static_cast<long long>(args.batch) * args.rows; }
  DeviceBuffer upload(const void* data, std::size_t bytes, std::size_t size);

  Gpu& gpu_;
  Case case_;
  int widest_ = 0;  // pages of the longest request
  DeviceBuffer q_, k_, v_, out_, lse_, lens_, table_, v_table_, k_scale_, v_scale_, status_;
};

}  // namespace qrow
