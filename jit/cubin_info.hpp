// Reads a cubin's ELF without a GPU or a driver: what a kernel needs of an SM. Bounds-checked
// against hostile bytes.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace qrow {

// Of one kernel, per thread (registers, stack) or per block (shared memory).
struct Resources {
  int registers = 0;
  int spill_store_bytes = 0;  // known only from the compiler's log: 0 when read from a cubin
  int spill_load_bytes = 0;
  int stack_bytes = 0;  // local memory frame
  int static_smem_bytes = 0;
};

// Throws Error(invalid_argument) if `cubin` is not a CUDA ELF or has no kernel of that name.
Resources read_cubin_info(std::span<const std::byte> cubin, std::string_view kernel);
// "sm_90a" as far as the ELF header tells ("sm_90" where the suffix is not recorded); "" if it is
// no CUDA ELF.
std::string cubin_arch(std::span<const std::byte> cubin);

}  // namespace qrow
