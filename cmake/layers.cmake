# Includes go one way (docs/ARCHITECTURE.md, "The map"): a folder may include only what is listed here.
# Run by ctest as `layers`; prints every include that goes against the map.
cmake_policy(SET CMP0057 NEW)
get_filename_component(root ${CMAKE_CURRENT_LIST_DIR}/.. ABSOLUTE)

set(transport_base "")
set(transport_wire transport/base)
set(transport_sprout transport/base)
set(transport_sprout_slow transport/base transport/sprout)
set(transport_session transport/base transport/wire transport/sprout)
set(transport_sim transport/base)
set(traces transport/base transport/sim)
set(media_frame transport/base)
set(media_source transport/base media/frame)
set(media_rate transport/base media/frame media/source media/codec)
set(media_codec transport/base media/frame media/source)
set(media_playout transport/base media/frame)
set(media_gst transport/base media/frame media/source)
set(app_call transport/base transport/wire transport/sprout transport/session
    media/frame media/source media/rate media/codec media/playout)
set(eval_metrics transport/base transport/sim media/frame)
set(eval_film transport/base media/frame media/source media/gst)
set(eval_schemes transport/base transport/wire transport/sprout transport/session transport/sim
    media/frame media/source media/rate media/codec media/playout app/call)
set(eval_harness transport/base transport/wire transport/sprout transport/session transport/sim traces
    media/frame media/source media/rate media/codec media/playout media/gst app/call
    eval/metrics eval/schemes eval/report)
set(eval_report transport/base)
set(eval_encoder transport/base transport/sim traces
    media/frame media/source media/rate media/codec media/gst eval/metrics eval/report)
set(eval ${eval_harness} eval/harness eval/film eval/encoder)

set(wrong 0)
set(seen 0)
file(GLOB_RECURSE files RELATIVE ${root}
  ${root}/transport/*.hh ${root}/transport/*.cc ${root}/media/*.hh ${root}/media/*.cc
  ${root}/app/*.hh ${root}/app/*.cc ${root}/eval/*.hh ${root}/eval/*.cc
  ${root}/traces/*.hh ${root}/traces/*.cc)
foreach(file ${files})
  get_filename_component(folder ${file} DIRECTORY)
  string(REPLACE "/" "_" key ${folder})
  if(NOT DEFINED ${key})
    message(SEND_ERROR "${file}: folder ${folder} is not on the map in cmake/layers.cmake")
    continue()
  endif()
  set(extra "")
  if(file MATCHES "_test\\.cc$|_bench\\.cc$" AND NOT folder MATCHES "^transport/(base|wire)$")
    set(extra transport/sim transport/sprout/slow)  # any machine may be tested in the simulated world
  endif()
  if(file MATCHES "^media/rate/.*_(test|bench)\\.cc$")
    list(APPEND extra media/gst)  # a size model is judged by real frames
  endif()
  file(STRINGS ${root}/${file} includes REGEX "^#include \"")
  foreach(line ${includes})
    string(REGEX REPLACE "^#include \"([^\"]*)\".*" "\\1" target "${line}")
    get_filename_component(target_folder ${target} DIRECTORY)
    math(EXPR seen "${seen} + 1")
    if(NOT target_folder STREQUAL folder AND NOT target_folder IN_LIST ${key}
       AND NOT target_folder IN_LIST extra AND NOT target_folder STREQUAL "")
      message(SEND_ERROR "${file} includes ${target}: against the map")
    endif()
  endforeach()
endforeach()
if(seen EQUAL 0)
  message(FATAL_ERROR "no include was seen: the check itself is broken")
endif()
message(STATUS "layers: ${seen} includes follow the map")
