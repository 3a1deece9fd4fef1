# Includes go one way (docs/ARCHITECTURE.md, "The map"): a folder may include only what is listed here.
# Run by ctest as `layers`; prints every include that goes against the map.
cmake_policy(SET CMP0057 NEW)
get_filename_component(root ${CMAKE_CURRENT_LIST_DIR}/.. ABSOLUTE)

set(transport_base "")
set(transport_wire transport/base)
set(transport_sprout transport/base)
set(transport_sprout_slow transport/base transport/sprout)
set(transport_session transport/base transport/wire transport/sprout)
set(transport_secure transport/base transport/wire)
set(transport_runtime transport/base)
set(transport_netns transport/base transport/runtime)
set(transport_sim transport/base)
set(traces transport/base transport/sim transport/runtime traces/saturate)
set(traces_saturate transport/base transport/sim transport/runtime)
set(traces_emulate transport/base transport/sim transport/runtime)
set(media_frame transport/base)
set(media_source transport/base media/frame)
set(media_rate transport/base media/frame media/source media/codec)
set(media_codec transport/base media/frame media/source)
set(media_playout transport/base media/frame)
set(media_gst transport/base media/frame media/source)
set(app_call transport/base transport/wire transport/sprout transport/session
    media/frame media/source media/rate media/codec media/playout)
set(app_live transport/base transport/wire transport/sprout transport/session transport/secure transport/runtime
    media/frame media/source media/rate media/codec media/playout media/gst app/call)
set(app transport/base transport/runtime transport/secure media/gst media/source app/headless app/desktop)
set(app_headless transport/base transport/runtime transport/secure media/frame media/source media/gst app/call app/live app/room)
set(app_ui transport/base media/frame)
set(app_desktop ${app_live} app/live app/room app/ui relay/protocol)
set(relay_protocol transport/base transport/session)
set(relay_forward transport/base transport/wire transport/sprout transport/session media/frame relay/protocol)
set(relay_daemon transport/base transport/runtime transport/secure relay/protocol relay/forward)
set(relay_tunnel transport/base transport/wire transport/sprout transport/session transport/secure transport/runtime
    transport/netns)
set(relay transport/base transport/runtime transport/secure relay/forward relay/daemon)
set(app_room ${app_live} app/live relay/protocol)
set(eval_metrics transport/base transport/sim media/frame)
set(eval_film transport/base media/frame media/source media/gst)
set(eval_schemes transport/base transport/wire transport/sprout transport/session transport/sim
    media/frame media/source media/rate media/codec media/playout app/call relay/tunnel)
set(eval_harness transport/base transport/wire transport/sprout transport/session transport/sim traces
    media/frame media/source media/rate media/codec media/playout media/gst app/call relay/tunnel
    eval/metrics eval/schemes eval/report)
set(eval_report transport/base)
set(eval_encoder transport/base transport/sim traces
    media/frame media/source media/rate media/codec media/gst eval/metrics eval/report)
set(eval_reproduce transport/base transport/sim transport/sprout traces relay/tunnel eval/metrics
    eval/schemes eval/harness eval/report eval/encoder)
set(eval_cellsim transport/base transport/runtime transport/netns transport/sim traces/emulate eval/metrics)
set(eval_sweep transport/base)
set(eval_compare transport/base eval/report eval/sweep)
set(eval_relay_load transport/base transport/runtime transport/secure relay/forward relay/daemon)
set(eval ${eval_harness} eval/relay_load transport/runtime eval/harness eval/film eval/encoder eval/reproduce eval/sweep eval/compare eval/cellsim)

set(wrong 0)
set(seen 0)
file(GLOB_RECURSE files RELATIVE ${root}
  ${root}/transport/*.hh ${root}/transport/*.cc ${root}/media/*.hh ${root}/media/*.cc
  ${root}/app/*.hh ${root}/app/*.cc ${root}/eval/*.hh ${root}/eval/*.cc
  ${root}/traces/*.hh ${root}/traces/*.cc
  ${root}/relay/*.hh ${root}/relay/*.cc)
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
  if(file MATCHES "^transport/secure/.*_test\\.cc$")
    list(APPEND extra transport/session transport/sprout)  # records carry an endpoint's datagrams
  endif()
  if(file MATCHES "^app/(room|headless|desktop)/.*(_test\\.cc|_test_tools\\.hh)$")
    list(APPEND extra transport/sim relay/forward)  # members meet at a real relay
  endif()
  if(file MATCHES "^relay/.*(_test\\.cc|_bench\\.cc|_test_tools\\.hh)$")
    list(APPEND extra transport/sim transport/sprout transport/wire media/playout traces)  # members on simulated links
  endif()
  if(file MATCHES "^relay/[a-z_]*_test\\.cc$")
    list(APPEND extra media/frame media/source app/call app/room relay/protocol)  # what members say is looked for at the relay
  endif()
  if(file MATCHES "^media/rate/.*_(test|bench)\\.cc$")
    list(APPEND extra media/gst)  # a size model is judged by real frames
  endif()
  if(file MATCHES "^traces/(saturate/)?.*_(test|bench)\\.cc$")
    list(APPEND extra traces traces/emulate)  # what is measured is compared with the trace that was replayed
  endif()
  if(file MATCHES "^eval/harness/live_.*_test\\.cc$")
    list(APPEND extra app/live transport/runtime transport/secure traces/emulate)  # live against simulated
  endif()
  if(file MATCHES "^eval/schemes/.*_test\\.cc$")
    list(APPEND extra eval/metrics)  # schemes are judged by the delay of the paper
  endif()
  if(file MATCHES "^eval/cellsim/.*_test\\.cc$")
    list(APPEND extra eval/harness traces media/gst)  # real programs against simulated ones
  endif()
  if(file MATCHES "^app/live/.*(_test\\.cc|_tools\\.hh)$")
    list(APPEND extra traces traces/emulate)  # a live call over an emulated path
  endif()
  if(file MATCHES "^transport/runtime/.*_(test|bench)\\.cc$")
    list(APPEND extra transport/session transport/sprout)  # a real session over real sockets
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
