# Writes OUT, the one small source that knows the commit of SOURCE; only when it changed, so that a build without a new
# commit compiles nothing. Outside a checkout of its own (a tarball) the commit is unknown.
#   cmake -DSOURCE=... -DOUT=... -P commit.cmake
set(commit unknown)
find_program(git git)
if(git)
  execute_process(COMMAND ${git} -C ${SOURCE} rev-parse --show-toplevel
    OUTPUT_VARIABLE top OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  get_filename_component(source ${SOURCE} REALPATH)
  if(top STREQUAL source)
    execute_process(COMMAND ${git} --no-optional-locks -C ${SOURCE} describe --always --abbrev=40 --exclude=* --dirty=-modified
      OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
    if(failed EQUAL 0 AND found MATCHES "^[0-9a-f]+(-modified)?$")
      set(commit ${found})
    endif()
  endif()
endif()
set(text "#include \"eval/commit.hh\"\n\nnamespace cress::eval {\n\nconst char* commit() { return \"${commit}\"; }\n\n}  // namespace cress::eval\n")
set(old "")
if(EXISTS ${OUT})
  file(READ ${OUT} old)
endif()
if(NOT text STREQUAL old)
  file(WRITE ${OUT} "${text}")
endif()
