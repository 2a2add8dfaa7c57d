// Run while qrow is built: writes the translation unit with the kernels for the CPU that are part
// of the command. write_built_in_kernels OUTPUT CASE...
#include <cstdio>
#include <fstream>
#include <set>
#include <string>

#include "runtime/tools/emulated_device.hpp"

namespace {

// The include lines of a text go to the top of the file, all else into a namespace of its own:
// every entry names its constants alike.
std::string in_namespace(const std::string& text, std::size_t index,
                         std::set<std::string>& includes) {
  std::string body;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    const std::string line = text.substr(begin, end - begin);
    if (line.starts_with("#include")) {
      includes.insert(line);
    } else {
      body += line;
    }
    begin = end;
  }
  return fmt::format("namespace built_in_{} {{\n{}}}\n", index, body);
}

}  // namespace

int main(int argc, char** argv) {
  std::set<std::string> includes, names;
  std::string bodies, list;
  for (int i = 2; i < argc; ++i) {
    const qrow::Case c = qrow::parse_case(argv[i]);
    for (const qrow::EmulatedKernel& kernel :
         qrow::kernels_of_call(c, qrow::arch_by_name("sm_90a"))) {
      const qrow::emulator::BuildItem item = qrow::emulator::build_item(kernel.variant, kernel.key);
      if (!names.insert(item.name).second) continue;
      list += fmt::format("  &built_in_{}::{}_emulated,\n", names.size(), item.name);
      bodies += in_namespace(item.text, names.size(), includes);
    }
  }
  std::ofstream out(argv[1]);
  for (const std::string& include : includes) out << include;
  out << "#include <span>\n"
      << bodies << "namespace {\nconst qrow::emulator::Entry* const kList[] = {\n"
      << list << "};\n}\n"
      << "namespace qrow {\nextern const std::span<const emulator::Entry* const> kBuiltInKernels;\n"
         "const std::span<const emulator::Entry* const> kBuiltInKernels = kList;\n}\n";
  return out.good() ? 0 : 1;
}
