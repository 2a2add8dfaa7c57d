#include <vector>

#include "runtime/tools/command.hpp"

int main(int count, char** words) {
  std::vector<const char*> rest(words + (count > 0 ? 1 : 0), words + count);
  return qrow::run_command_line(rest, stdout, stderr);
}
