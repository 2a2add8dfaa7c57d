#include "jit/ptxas_log.hpp"

#include <doctest/doctest.h>

#include <string>

namespace qrow {
namespace {

// As NVRTC 13.0 writes it; 12.9 has no "ptxas         ." before the line of the stack.
const std::string kLog =
    "ptxas info    : 9 bytes gmem, 16 bytes cmem[4]\n"
    "ptxas info    : Compiling entry function 'foo' for 'sm_90a'\n"
    "ptxas info    : Function properties for foo\n"
    "ptxas         .     56 bytes stack frame, 100 bytes spill stores, 108 bytes spill loads\n"
    "ptxas info    : Used 168 registers, used 1 barriers, 56 bytes cumulative stack size, 1128 "
    "bytes smem, 368 bytes "
    "cmem[0]\n"
    "ptxas info    : Compile time = 2.946 ms\n";

}  // namespace

TEST_CASE("Registers, spills, stack and shared memory are read from the assembler's report") {
  const auto found = parse_ptxas_log(kLog, "foo");
  REQUIRE(found);
  CHECK(found->registers == 168);
  CHECK(found->spill_store_bytes == 100);
  CHECK(found->spill_load_bytes == 108);
  CHECK(found->stack_bytes == 56);
  CHECK(found->static_smem_bytes == 1128);
}

TEST_CASE("Spills of a function that was not inlined count as the kernel's") {
  const auto found =
      parse_ptxas_log(kLog +
                          "ptxas info    : Function properties for callee\n"
                          "    64 bytes stack frame, 1 bytes spill stores, 2 bytes spill loads\n",
                      "foo");
  REQUIRE(found);
  CHECK(found->spill_store_bytes == 101);
  CHECK(found->spill_load_bytes == 110);
  CHECK(found->stack_bytes == 64);
}

TEST_CASE("A report about another kernel or of another form tells nothing") {
  CHECK_FALSE(parse_ptxas_log(kLog, "fo"));
  CHECK_FALSE(parse_ptxas_log("", "foo"));
  CHECK_FALSE(parse_ptxas_log("a log without the words\n", "foo"));
  CHECK_FALSE(
      parse_ptxas_log("ptxas info    : Compiling entry function 'foo' for 'sm_90a'\n"
                      "ptxas info    : Used 10 registers\n",
                      "foo"));
  std::string no_number = kLog;
  no_number.replace(no_number.find("168"), 3, "---");
  CHECK_FALSE(parse_ptxas_log(no_number, "foo"));
}

}  // namespace qrow
