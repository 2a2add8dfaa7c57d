// The only place that includes <cuda.h>: types and enumerators of the driver API. Functions are
// never called through its declarations (nothing links libcuda) but through qrow::Driver.
#pragma once

#include <cuda.h>
