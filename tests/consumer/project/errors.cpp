// The C API from C++17: an owner for the context, and an error that says what is wrong.
#include <qrow/qrow.h>

#include <cstdio>
#include <memory>
#include <string>

namespace {

struct DestroyContext {
  void operator()(qrow_context* context) const { qrow_context_destroy(context); }
};
using Context = std::unique_ptr<qrow_context, DestroyContext>;

Context offline_context(const char* arch, qrow_status* status) {
  qrow_context_options options{};
  options.struct_size = sizeof options;
  qrow_context_options_init(&options);
  options.device = QROW_DEVICE_NONE;
  options.arch = arch;
  options.cache_mode = QROW_CACHE_OFF;
  qrow_context* context = nullptr;
  *status = qrow_context_create(&options, &context);
  return Context(context);
}

}  // namespace

int main() {
  qrow_status status = QROW_STATUS_OK;
  const Context good = offline_context("sm_80", &status);
  if (!good || status != QROW_STATUS_OK) return 1;

  const Context bad = offline_context("sm_11", &status);
  const std::string text = qrow_last_error();
  std::printf("%s: %s\n", qrow_status_name(status), text.c_str());
  const bool names_the_arch = text.find("sm_11") != std::string::npos;
  return !bad && status != QROW_STATUS_OK && names_the_arch ? 0 : 1;
}
