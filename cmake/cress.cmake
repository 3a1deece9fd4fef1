# How a folder becomes a target: one folder, one library, one test program, one namespace.

include(GoogleTest)

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

# As a part of another project: its warnings are its own affair.
set(cress_warnings -Wall -Wextra -Werror -Wshadow -Wconversion -Wno-sign-conversion)
if(NOT PROJECT_IS_TOP_LEVEL)
  set(cress_warnings "")
endif()
add_library(cress_options INTERFACE)
target_compile_options(cress_options INTERFACE ${cress_warnings}
  # The same inputs give the same bytes on every machine: no fused multiply-add behind our back.
  -ffp-contract=off)
if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Where files are compiled together gcc takes a .cc for a header that others include too.
  target_compile_options(cress_options INTERFACE -Wno-subobject-linkage)
endif()
target_include_directories(cress_options INTERFACE ${cress_SOURCE_DIR})
target_compile_definitions(cress_options INTERFACE CRESS_VERSION="${PROJECT_VERSION}")
if(PROJECT_IS_TOP_LEVEL)
  # What a peer sends is parsed here: an index out of range ends the program instead of corrupting it.
  add_compile_definitions(_GLIBCXX_ASSERTIONS)
endif()
if(PROJECT_IS_TOP_LEVEL AND NOT CRESS_SANITIZE)
  # Against what still goes wrong. Control-flow protection is of use where the C library has it, too.
  add_compile_options(-fstack-protector-strong $<$<STREQUAL:${CMAKE_SYSTEM_PROCESSOR},x86_64>:-fcf-protection>
    "$<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>")
  add_link_options(-Wl,-z,relro,-z,now)
endif()
if(PROJECT_IS_TOP_LEVEL AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # gcc frees memory from 128 MB on, by default, and spends a tenth of its time on that. With 1 GB it hardly does; the
  # largest file then takes 1.2 GB to compile instead of 0.9.
  add_compile_options(--param=ggc-min-heapsize=1000000)
endif()
if(CRESS_SANITIZE)
  # gcc 12 takes its own instrumentation for uses of what is not set; without it the warning stands.
  add_compile_options(-fsanitize=${CRESS_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  add_link_options(-fsanitize=${CRESS_SANITIZE})
endif()
if(CRESS_FUZZ)
  # Coverage feedback everywhere; only the fuzzers themselves link libFuzzer's main.
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# Half of all compilation is tests, which gain little from being optimised and nothing from telling fuzzers their
# coverage. A test that fails says where; line numbers for a debugger are in the build with sanitizers. The C library's
# checks of buffers need optimised code.
set(cress_test_options -O1 -g0)
set(cress_waiting_test_options -O0 -U_FORTIFY_SOURCE)
if(CRESS_SANITIZE)
  set(cress_test_options -O0)
endif()
# Folders that are COLD: most of the code in them is of libraries that read command lines and JSON.
set(cress_cold_options -O1)
if(CRESS_SANITIZE)
  set(cress_cold_options -O0)
endif()
if(CRESS_FUZZ)
  list(APPEND cress_test_options -fno-sanitize=fuzzer-no-link)
endif()

# Where headers are installed, with their folders.
set(cress_headers include/cress)

# `transport/session` -> `transport-session`: CMake allows no slash in a target's name.
function(cress_target_name path out)
  string(REPLACE "/" "-" name ${path})
  set(${out} ${name} PARENT_SCOPE)
endfunction()

# Before the command of a test that computes all the time. ./cress runs twice as many tests as there are processors:
# those that wait for real time to pass, or for other programs, come first whenever they have something to do.
set(cress_computes nice -n 10)

# What ./cress check runs under the sanitizers: the tests of the code that peers, cameras and users reach, and every
# fuzzer. Tests of the lab have the label `lab`; ./cress asan runs those, too.
add_custom_target(outside_lab)

# What ./cress bench runs. Compiling them takes a minute of processor time, so neither the programs nor the tests wait
# for them.
add_custom_target(benchmarks)

# cress_library(transport/session [PACKAGES PkgConfig::X ...]): what cmake/folders.cmake lists is linked.
#   *.cc (without the siblings below) -> the library
#   *_test.cc -> <name>-test, run by ctest;  *_bench.cc -> bin/bench/<name>-bench
#   *_fuzz.cc -> with CRESS_FUZZ, one libFuzzer program each and a short run of it in ctest
#   APART: files that share a name of their own with another of the folder; where a folder is compiled as a few
#   large pieces, they stay alone
#   TESTS_WAIT: its tests mostly wait, for real time to pass or for other programs; others are cress_computes
#   COLD: command lines, reports, screens: where it saves time to be compiled with little optimisation
function(cress_library path)
  cmake_parse_arguments(ARG "TESTS_WAIT;COLD" "" "PACKAGES;APART" ${ARGN})
  cress_target_name(${path} name)
  set(dir ${cress_SOURCE_DIR}/${path})
  list(TRANSFORM ARG_APART PREPEND ${dir}/)
  set_source_files_properties(${ARG_APART} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  file(GLOB sources CONFIGURE_DEPENDS ${dir}/*.cc)
  file(GLOB tests CONFIGURE_DEPENDS ${dir}/*_test.cc)
  file(GLOB benches CONFIGURE_DEPENDS ${dir}/*_bench.cc)
  file(GLOB fuzzers CONFIGURE_DEPENDS ${dir}/*_fuzz.cc)
  file(GLOB mains CONFIGURE_DEPENDS ${dir}/*_main.cc)
  if(sources)
    list(REMOVE_ITEM sources ${tests} ${benches} ${fuzzers} ${mains})
  endif()
  # Its users need neither our warnings nor the source folder once it is installed.
  set(deps $<BUILD_INTERFACE:cress_options> ${ARG_PACKAGES})
  foreach(dep ${cress_may_${path}})
    cress_target_name(${dep} dep_name)
    list(APPEND deps ${dep_name})
  endforeach()
  if(sources)
    add_library(${name} STATIC ${sources})
    target_link_libraries(${name} PUBLIC ${deps})
    target_include_directories(${name} PUBLIC $<INSTALL_INTERFACE:${cress_headers}>)
    if(ARG_COLD)
      target_compile_options(${name} PRIVATE ${cress_cold_options})
    endif()
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE ${deps})
    target_include_directories(${name} INTERFACE $<INSTALL_INTERFACE:${cress_headers}>)
  endif()
  if(NOT CRESS_TESTS)
    return()
  endif()
  # Test tools of other folders bring what their own tests may include.
  set(test_folders ${path} ${cress_tests_may_${path}})
  foreach(dep ${cress_may_${path}} ${cress_tests_may_${path}})
    list(APPEND test_folders ${cress_tests_may_${dep}})
  endforeach()
  list(REMOVE_DUPLICATES test_folders)
  set(test_deps "")
  foreach(dep ${test_folders})
    cress_target_name(${dep} dep_name)
    list(APPEND test_deps ${dep_name})
  endforeach()
  if(tests)
    add_executable(${name}-test ${tests})
    target_link_libraries(${name}-test PRIVATE ${test_deps} GTest::gtest GTest::gtest_main)
    target_compile_options(${name}-test PRIVATE ${cress_test_options})
    if(ARG_TESTS_WAIT)
      target_compile_options(${name}-test PRIVATE ${cress_waiting_test_options})
    endif()
    target_compile_definitions(${name}-test PRIVATE CRESS_DATA="${CRESS_DATA}"
      CRESS_BIN="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}" CRESS_SOURCE="${cress_SOURCE_DIR}")
    if(ARG_TESTS_WAIT)
      add_test(NAME ${name} COMMAND ${name}-test)
    else()
      add_test(NAME ${name} COMMAND ${cress_computes} $<TARGET_FILE:${name}-test>)
    endif()
    set_tests_properties(${name} PROPERTIES TIMEOUT 3000 LABELS gtest)
    if(path MATCHES "^(eval|traces$)" AND NOT path STREQUAL "eval/swarm")
      set_property(TEST ${name} APPEND PROPERTY LABELS lab)
    else()
      add_dependencies(outside_lab ${name}-test)
    endif()
  endif()
  if(benches AND NOT CRESS_SANITIZE)
    add_executable(${name}-bench EXCLUDE_FROM_ALL ${benches})
    add_dependencies(benchmarks ${name}-bench)
    target_link_libraries(${name}-bench PRIVATE ${test_deps} benchmark::benchmark_main)
    set_target_properties(${name}-bench PROPERTIES
      RUNTIME_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/bench)
  endif()
  if(CRESS_FUZZ)
    foreach(fuzzer ${fuzzers})
      cress_fuzzer(${fuzzer} ${test_deps})
    endforeach()
  endif()
endfunction()

# One of the longest tests begins first.
function(cress_test_cost test cost)
  if(TEST ${test})
    set_tests_properties(${test} PROPERTIES COST ${cost})
  endif()
endfunction()

# A fuzzer's committed inputs (past findings and seeds) are in <folder>/corpus/<fuzzer>/.
set(CRESS_FUZZ_SECONDS 5 CACHE STRING "Seconds each fuzzer runs inside the tests")
if(CRESS_FUZZ)
  add_custom_target(fuzzers)  # all of them
  add_dependencies(outside_lab fuzzers)
endif()
function(cress_fuzzer source)  # and the libraries that it links
  get_filename_component(fuzz ${source} NAME_WE)
  get_filename_component(dir ${source} DIRECTORY)
  add_executable(${fuzz} ${source})
  target_link_libraries(${fuzz} PRIVATE ${ARGN})
  target_link_options(${fuzz} PRIVATE -fsanitize=fuzzer)
  add_dependencies(fuzzers ${fuzz})
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz/${fuzz})
  set(corpus ${CMAKE_BINARY_DIR}/fuzz/${fuzz})
  if(EXISTS ${dir}/corpus/${fuzz})
    list(APPEND corpus ${dir}/corpus/${fuzz})
  endif()
  add_test(NAME ${fuzz} COMMAND ${cress_computes} $<TARGET_FILE:${fuzz}> -max_total_time=${CRESS_FUZZ_SECONDS}
    -rss_limit_mb=2048 -max_len=65536 -print_final_stats=1 ${corpus})
endfunction()

# cress_program(cress-eval eval/eval_main.cc DEPS eval/harness ...)
function(cress_program program source)
  cmake_parse_arguments(ARG "" "" "DEPS;PACKAGES" ${ARGN})
  add_executable(${program} ${source})
  target_link_libraries(${program} PRIVATE cress_options ${ARG_PACKAGES})
  foreach(dep ${ARG_DEPS})
    cress_target_name(${dep} dep_name)
    target_link_libraries(${program} PRIVATE ${dep_name})
  endforeach()
endfunction()
