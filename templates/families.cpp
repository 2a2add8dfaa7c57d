#include "templates/families.hpp"

namespace qrow {

#define QROW_FAMILY(name) const Family& name##_family();
#include "templates/families.def"
#undef QROW_FAMILY

std::span<const Family* const> families() {
  static const Family* const list[] = {
#define QROW_FAMILY(name) &name##_family(),
#include "templates/families.def"
#undef QROW_FAMILY
  };
  return list;
}

const Family* family_by_name(std::string_view name) {
  for (const Family* family : families()) {
    if (family->name() == name) return family;
  }
  return nullptr;
}

}  // namespace qrow
