// The arguments that several commands share: where the cache is, which archs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cache/kernel_store.hpp"
#include "jit/arch.hpp"
#include "runtime/kernel_provider.hpp"
#include "runtime/tools/arguments.hpp"
#include "runtime/tools/output.hpp"

namespace qrow {

// --cache and the log, for commands that look for kernels or compile them.
ProviderOptions provider_options(Arguments& arguments, Output& output);

// The cache file --cache or `given` names, for commands that work on the file itself. With
// `must_exist` a missing file is Error(invalid_argument): a mistyped path must not become an empty
// cache. Throws Error(cache) if it cannot be used.
std::unique_ptr<KernelStore> open_cache(const std::string& given, Output& output, bool must_exist,
                                        bool may_be_damaged = false);
std::unique_ptr<KernelStore> open_cache(Arguments& arguments, Output& output, bool must_exist);

// The values of --arch, canonical or alias, repeats left out. Empty: the arch of this machine's
// first GPU; without a GPU Error(invalid_argument) says so and lists what is legal.
std::vector<const Arch*> archs_from(const std::vector<std::string>& names);

// The best arch for this machine's first GPU; null with the reason where there is none.
const Arch* local_arch(std::string* why);

}  // namespace qrow
