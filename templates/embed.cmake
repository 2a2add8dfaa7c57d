# Writes OUTPUT: one row {"path", R"text(...)text"}, per file of FILES (separated by '|', paths relative to ROOT), in
# that order. Run as a script: cmake -DROOT= -DFILES= -DOUTPUT= -P embed.cmake
string(REPLACE "|" ";" files "${FILES}")
set(rows "// Written by templates/embed.cmake from templates/**/*.cuh.\n")
foreach(file IN LISTS files)
  file(READ "${ROOT}/${file}" text)
  string(FIND "${text}" ")qrow\"" clash)
  if(NOT clash EQUAL -1)
    message(FATAL_ERROR "${file} holds )qrow\", which ends the raw string that it is embedded in: write it otherwise.")
  endif()
  string(APPEND rows "{\"${file}\", R\"qrow(${text})qrow\"},\n")
endforeach()
file(WRITE "${OUTPUT}" "${rows}")
