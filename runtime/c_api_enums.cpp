// The public enumerations and the ones inside are the same numbers.
#include "runtime/base/log.hpp"
#include "runtime/c_api.hpp"
#include "templates/common/dtype.cuh"

namespace qrow {

#define QROW_SAME(inside, outside)                   \
  static_assert(static_cast<int>(inside) == outside, \
                "an enumerator of qrow.h differs from its twin")

QROW_SAME(Status::ok, QROW_STATUS_OK);
QROW_SAME(Status::invalid_argument, QROW_STATUS_INVALID_ARGUMENT);
QROW_SAME(Status::unsupported, QROW_STATUS_UNSUPPORTED);
QROW_SAME(Status::not_cached, QROW_STATUS_NOT_CACHED);
QROW_SAME(Status::compile_failed, QROW_STATUS_COMPILE_FAILED);
QROW_SAME(Status::no_compiler, QROW_STATUS_NO_COMPILER);
QROW_SAME(Status::no_device, QROW_STATUS_NO_DEVICE);
QROW_SAME(Status::driver, QROW_STATUS_DRIVER);
QROW_SAME(Status::workspace_too_small, QROW_STATUS_WORKSPACE_TOO_SMALL);
QROW_SAME(Status::deadline, QROW_STATUS_DEADLINE);
QROW_SAME(Status::cancelled, QROW_STATUS_CANCELLED);
QROW_SAME(Status::cache, QROW_STATUS_CACHE);
QROW_SAME(Status::out_of_memory, QROW_STATUS_OUT_OF_MEMORY);
QROW_SAME(Status::internal, QROW_STATUS_INTERNAL);

QROW_SAME(DType::bf16, QROW_DTYPE_BF16);
QROW_SAME(DType::f16, QROW_DTYPE_F16);
QROW_SAME(DType::f32, QROW_DTYPE_F32);
QROW_SAME(DType::e4m3, QROW_DTYPE_E4M3);
QROW_SAME(DType::e5m2, QROW_DTYPE_E5M2);
QROW_SAME(DType::int8, QROW_DTYPE_INT8);

QROW_SAME(Scale::none, QROW_SCALE_NONE);
QROW_SAME(Scale::tensor, QROW_SCALE_TENSOR);
QROW_SAME(Scale::head, QROW_SCALE_HEAD);
QROW_SAME(Scale::token_head, QROW_SCALE_TOKEN_HEAD);

QROW_SAME(Mask::causal, QROW_MASK_CAUSAL);
QROW_SAME(Mask::none, QROW_MASK_NONE);
QROW_SAME(Mask::tree, QROW_MASK_TREE);
QROW_SAME(Mask::limits, QROW_MASK_LIMITS);

QROW_SAME(Lse::off, QROW_LSE_OFF);
QROW_SAME(Lse::base_e, QROW_LSE_BASE_E);
QROW_SAME(Lse::base_2, QROW_LSE_BASE_2);

QROW_SAME(Numerics::fast, QROW_NUMERICS_FAST);
QROW_SAME(Numerics::batch_invariant, QROW_NUMERICS_BATCH_INVARIANT);
QROW_SAME(Numerics::row_invariant, QROW_NUMERICS_ROW_INVARIANT);

QROW_SAME(Source::compiled, QROW_SOURCE_COMPILED);
QROW_SAME(Source::user, QROW_SOURCE_USER);
QROW_SAME(Source::seed, QROW_SOURCE_SEED);
QROW_SAME(Source::memory, QROW_SOURCE_MEMORY);

QROW_SAME(TuningSource::fallback, QROW_TUNING_DEFAULT);
QROW_SAME(TuningSource::nearest, QROW_TUNING_NEAREST);
QROW_SAME(TuningSource::exact, QROW_TUNING_EXACT);
QROW_SAME(TuningSource::forced, QROW_TUNING_FORCED);

QROW_SAME(LogLevel::error, QROW_LOG_ERROR);
QROW_SAME(LogLevel::warning, QROW_LOG_WARNING);
QROW_SAME(LogLevel::info, QROW_LOG_INFO);
QROW_SAME(LogLevel::debug, QROW_LOG_DEBUG);

#undef QROW_SAME

}  // namespace qrow
