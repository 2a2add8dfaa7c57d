#include "runtime/emulator/memory.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace qrow::emulator {

TEST_CASE("an access is inside one allocation or nowhere") {
  std::vector<char> bytes(256);
  char* const begin = bytes.data() + 64;
  Memory memory;
  memory.add(begin, 100);
  CHECK(memory.words(begin, 100).count == 25);
  CHECK(memory.words(begin + 3, 2).count == 2);  // over the border of two words
  CHECK(memory.words(begin + 96, 4).first == memory.words(begin, 4).first + 24);
  CHECK(memory.words(begin + 97, 4).first == nullptr);
  CHECK(memory.words(begin + 100, 1).first == nullptr);
  CHECK(memory.words(begin - 1, 1).first == nullptr);
  CHECK(memory.words(begin - 1, 2).first == nullptr);
}

TEST_CASE("memory that was removed is nowhere, and new memory in its place has no past") {
  std::vector<char> bytes(64);
  Memory memory;
  memory.add(bytes.data(), 64);
  memory.words(bytes.data(), 4).first->write.launch = 3;
  memory.remove(bytes.data());
  CHECK(memory.words(bytes.data(), 4).first == nullptr);
  memory.remove(bytes.data());
  memory.add(bytes.data(), 64);
  CHECK(memory.words(bytes.data(), 4).first->write.launch == 0);
}

TEST_CASE("allocations side by side stay apart") {
  std::vector<char> bytes(64);
  Memory memory;
  memory.add(bytes.data() + 32, 32);
  memory.add(bytes.data(), 32);
  CHECK(memory.words(bytes.data() + 28, 4).first != nullptr);
  CHECK(memory.words(bytes.data() + 32, 4).first != nullptr);
  CHECK(memory.words(bytes.data() + 30, 4).first == nullptr);
}

}  // namespace qrow::emulator
