#include "jit/nvrtc_program.hpp"

#include "runtime/base/error.hpp"

namespace qrow {

NvrtcProgram::NvrtcProgram(const NvrtcFunctions& functions, const std::string& name,
                           const std::string& text, std::span<const SourceFile> headers)
    : functions_(functions) {
  // NVRTC wants terminated strings, which views do not promise.
  std::vector<std::string> strings;
  strings.reserve(2 * headers.size());
  std::vector<const char*> texts, paths;
  for (const SourceFile& header : headers) {
    texts.push_back(strings.emplace_back(header.text).c_str());
    paths.push_back(strings.emplace_back(header.path).c_str());
  }
  check(functions_.nvrtcCreateProgram(&handle_, text.c_str(), name.c_str(),
                                      static_cast<int>(headers.size()), texts.data(), paths.data()),
        "nvrtcCreateProgram");
}

NvrtcProgram::~NvrtcProgram() {
  if (handle_ != nullptr) functions_.nvrtcDestroyProgram(&handle_);
}

void NvrtcProgram::set_stop_callback(bool (*callback)(const void*), const void* payload) {
  stop_ = {callback, payload};
  const auto poll = [](void* stop, void*) {
    const Stop& asked = *static_cast<const Stop*>(stop);
    return asked.callback(asked.payload) ? 1 : 0;
  };
  check(functions_.nvrtcSetFlowCallback(handle_, poll, &stop_), "nvrtcSetFlowCallback");
}

NvrtcResult NvrtcProgram::compile(const std::vector<std::string>& options) {
  std::vector<const char*> texts;
  for (const std::string& option : options) texts.push_back(option.c_str());
  return static_cast<NvrtcResult>(
      functions_.nvrtcCompileProgram(handle_, static_cast<int>(texts.size()), texts.data()));
}

const char* NvrtcProgram::result_text(NvrtcResult result) const {
  return functions_.nvrtcGetErrorString(static_cast<int>(result));
}

std::string NvrtcProgram::log() const {
  std::size_t size = 0;
  check(functions_.nvrtcGetProgramLogSize(handle_, &size), "nvrtcGetProgramLogSize");
  std::string text(size, '\0');
  if (size > 0) check(functions_.nvrtcGetProgramLog(handle_, text.data()), "nvrtcGetProgramLog");
  text.resize(text.find_last_not_of('\0') + 1);  // the size counts the terminator
  return text;
}

std::vector<std::byte> NvrtcProgram::cubin() const {
  std::size_t size = 0;
  check(functions_.nvrtcGetCUBINSize(handle_, &size), "nvrtcGetCUBINSize");
  std::vector<std::byte> bytes(size);
  if (size > 0)
    check(functions_.nvrtcGetCUBIN(handle_, reinterpret_cast<char*>(bytes.data())),
          "nvrtcGetCUBIN");
  return bytes;
}

std::string NvrtcProgram::ptx() const {
  std::size_t size = 0;
  check(functions_.nvrtcGetPTXSize(handle_, &size), "nvrtcGetPTXSize");
  std::string text(size, '\0');
  if (size > 0) check(functions_.nvrtcGetPTX(handle_, text.data()), "nvrtcGetPTX");
  return text;
}

void NvrtcProgram::check(int result, const char* call) const {
  if (result == static_cast<int>(NvrtcResult::success)) return;
  const Status status = result == static_cast<int>(NvrtcResult::out_of_memory)
                            ? Status::out_of_memory
                            : Status::internal;
  fail(status, "{} failed with code {}: {}", call, result, functions_.nvrtcGetErrorString(result));
}

}  // namespace qrow
