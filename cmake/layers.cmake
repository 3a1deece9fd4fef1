# Includes go one way: a folder may include only what cmake/folders.cmake lists for it. Run by ctest as `layers`; prints
# every include that goes against the map.
cmake_policy(SET CMP0057 NEW)
get_filename_component(root ${CMAKE_CURRENT_LIST_DIR}/.. ABSOLUTE)
include(${CMAKE_CURRENT_LIST_DIR}/folders.cmake)

# Code without I/O does not know the event loop, and what is not a test or a bench does not know the simulator.
set(real_time transport/netns transport/mapping/router app/live app/room app/headless app/desktop app relay/daemon relay/tunnel relay
  traces traces/saturate traces/emulate eval/cellsim eval/relay_load eval)
foreach(folder ${cress_folders})
  if(transport/runtime IN_LIST cress_may_${folder} AND NOT folder IN_LIST real_time)
    message(SEND_ERROR "${folder} does no I/O, so cmake/folders.cmake must not let it include transport/runtime")
  endif()
  if(transport/sim IN_LIST cress_may_${folder} AND NOT folder MATCHES "^(eval|traces)(/|$)")
    message(SEND_ERROR "${folder} is in production: cmake/folders.cmake must not let it include transport/sim")
  endif()
endforeach()

# Clocks besides MonotonicClock, and random numbers that no seed gives: docs/ARCHITECTURE.md, "Who reads a clock".
set(other_clocks "std::chrono::(steady|system|high_resolution)_clock|clock_gettime|gettimeofday|std::time\\(|random_device")
set(readers app/commands.cc eval/encoder_command.cc eval/progress.hh eval/sweep_command.cc eval/swarm/swarm_main.cc
  relay/relay_main.cc transport/runtime/clock.cc transport/runtime/event_loop.cc)

set(seen 0)
file(GLOB_RECURSE files RELATIVE ${root}
  ${root}/transport/*.hh ${root}/transport/*.cc ${root}/media/*.hh ${root}/media/*.cc
  ${root}/app/*.hh ${root}/app/*.cc ${root}/eval/*.hh ${root}/eval/*.cc
  ${root}/traces/*.hh ${root}/traces/*.cc ${root}/relay/*.hh ${root}/relay/*.cc)
foreach(file ${files})
  get_filename_component(folder ${file} DIRECTORY)
  if(NOT folder IN_LIST cress_folders)
    message(SEND_ERROR "${file}: folder ${folder} is not on the map in cmake/folders.cmake")
    continue()
  endif()
  set(may ${folder} ${cress_may_${folder}})
  if(file MATCHES "_(test|fuzz|bench)\\.cc$|_test_tools\\.(hh|cc)$")
    list(APPEND may ${cress_tests_may_${folder}})
  elseif(NOT file IN_LIST readers)
    file(STRINGS ${root}/${file} clocks REGEX "${other_clocks}")
    if(clocks)
      message(SEND_ERROR "${file} reads a clock, or random numbers without a seed: time is passed in")
    endif()
  endif()
  file(STRINGS ${root}/${file} includes REGEX "^#include \"")
  foreach(line ${includes})
    string(REGEX REPLACE "^#include \"([^\"]*)\".*" "\\1" target "${line}")
    get_filename_component(target_folder ${target} DIRECTORY)
    math(EXPR seen "${seen} + 1")
    if(NOT target_folder STREQUAL "" AND NOT target_folder IN_LIST may)
      message(SEND_ERROR "${file} includes ${target}: against the map")
    endif()
  endforeach()
endforeach()
if(seen EQUAL 0)
  message(FATAL_ERROR "no include was seen: the check itself is broken")
endif()
message(STATUS "layers: ${seen} includes follow the map")
