# Run by ctest. Expects: build (qrow's build folder), source (the consumer's project), scratch (a folder of ours),
# generator, c_compiler, cxx_compiler, sanitize (the sanitizers that qrow was built with, or nothing).

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "failed (${result}): ${ARGN}")
  endif()
endfunction()

file(REMOVE_RECURSE ${scratch})
run(${CMAKE_COMMAND} --install ${build} --prefix ${scratch}/installed)
# A sanitized library needs its run-time library in the program too.
if(sanitize)
  set(flags "-DCMAKE_EXE_LINKER_FLAGS=-fsanitize=${sanitize}")
endif()
run(${CMAKE_COMMAND} -S ${source} -B ${scratch}/build -G ${generator} ${flags} -DCMAKE_PREFIX_PATH=${scratch}/installed
    -DCMAKE_C_COMPILER=${c_compiler} -DCMAKE_CXX_COMPILER=${cxx_compiler})
run(${CMAKE_COMMAND} --build ${scratch}/build)
run(${scratch}/build/ask)
run(${scratch}/build/decode_step)
run(${scratch}/build/errors)
