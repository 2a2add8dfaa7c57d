# Writes `file`, which registers each test case of the doctest executable `exe` with ctest as "label: name".
# Cases run in `folder`, with the ctest `properties`. Run by tests/CMakeLists.txt after each link.

cmake_minimum_required(VERSION 3.25)

execute_process(COMMAND ${exe} --list-test-cases --no-version OUTPUT_VARIABLE listing RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "${exe} --list-test-cases failed (${result}):\n${listing}")
endif()

# A bracket or a semicolon in a name would be taken for list syntax: they travel as control characters.
string(ASCII 1 open)
string(ASCII 2 close)
string(ASCII 3 semicolon)
string(REPLACE "[" "${open}" listing "${listing}")
string(REPLACE "]" "${close}" listing "${listing}")
string(REPLACE ";" "${semicolon}" listing "${listing}")
string(REPLACE "\n" ";" listing "${listing}")

set(quoted_properties "")
foreach(property IN LISTS properties)
  string(APPEND quoted_properties " [==[${property}]==]")
endforeach()

set(script "")
set(seen "")
foreach(line IN LISTS listing)
  if(line STREQUAL "" OR line MATCHES "^====" OR line MATCHES "^${open}doctest${close}")
    continue()
  endif()
  string(TOLOWER "${line}" lower) # doctest's filters ignore case
  if(lower IN_LIST seen)
    message(FATAL_ERROR "two test cases of ${exe} have the name \"${line}\": give one of them another")
  endif()
  list(APPEND seen "${lower}")
  string(REPLACE "${open}" "[" name "${line}")
  string(REPLACE "${close}" "]" name "${name}")
  string(REPLACE "${semicolon}" ";" name "${name}")
  # doctest splits a filter at commas.
  string(REPLACE "\\" "\\\\" filter "${name}")
  string(REPLACE "," "\\," filter "${filter}")
  string(APPEND script "add_test([==[${label}: ${name}]==] [==[${exe}]==] [==[--test-case=${filter}]==] --no-intro)\n"
    "set_tests_properties([==[${label}: ${name}]==] PROPERTIES WORKING_DIRECTORY [==[${folder}]==]${quoted_properties})\n")
endforeach()
file(WRITE ${file} "${script}")
