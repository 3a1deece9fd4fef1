# The map: every folder, which others its code may include (MAY), and which more its tests, fuzzers and benchmarks may
# (TESTS). This list makes the targets' dependencies (cmake/cress.cmake), is held against every include by the ctest
# `layers`, and is the table of docs/ARCHITECTURE.md.
macro(cress_folder path)
  cmake_parse_arguments(folder "" "" "MAY;TESTS" ${ARGN})
  list(APPEND cress_folders ${path})
  set(cress_may_${path} ${folder_MAY})
  set(cress_tests_may_${path} ${folder_TESTS})
endmacro()

set(cress_folders "")
cress_folder(transport/base)
cress_folder(transport/wire MAY transport/base)
cress_folder(transport/control MAY transport/base)
cress_folder(transport/control/sprout MAY transport/base transport/control TESTS transport/control/sprout/slow)
cress_folder(transport/control/sprout/slow MAY transport/control/sprout)
cress_folder(transport/control/cress MAY transport/base transport/control)
cress_folder(transport/session MAY transport/base transport/wire transport/control TESTS transport/control/sprout
  transport/control/cress transport/sim)
cress_folder(transport/secure/crypto MAY transport/base)
cress_folder(transport/secure/records MAY transport/base transport/wire transport/secure/crypto TESTS
  transport/secure)
cress_folder(transport/secure/handshake MAY transport/base transport/secure/crypto transport/secure/records TESTS
  transport/secure)
cress_folder(transport/secure/path MAY transport/base transport/secure/crypto transport/secure/records
  transport/secure/handshake TESTS transport/secure)
cress_folder(transport/secure/rendezvous MAY transport/base transport/secure/crypto transport/secure/handshake TESTS
  transport/secure)
cress_folder(transport/secure/group MAY transport/base transport/secure/crypto transport/secure/records TESTS
  transport/secure/handshake)
cress_folder(transport/secure/link MAY transport/base transport/secure/crypto)
cress_folder(transport/secure MAY transport/base transport/secure/crypto transport/secure/handshake
  transport/secure/path transport/secure/rendezvous TESTS transport/control/cress transport/session transport/secure/records
  transport/secure/group transport/sim)
cress_folder(transport/room MAY transport/base transport/session TESTS transport/control/cress)
cress_folder(transport/process MAY transport/base)
cress_folder(transport/runtime MAY transport/base TESTS transport/control/cress transport/session)
cress_folder(transport/netns MAY transport/base transport/runtime)
cress_folder(transport/mapping MAY transport/base)
cress_folder(transport/mapping/router MAY transport/base transport/secure/crypto transport/runtime transport/netns
  transport/mapping)
cress_folder(transport/sim MAY transport/base)
cress_folder(traces MAY transport/base transport/process transport/runtime transport/sim traces/saturate TESTS
  traces/emulate)
cress_folder(traces/saturate MAY transport/base transport/runtime transport/sim TESTS traces traces/emulate)
cress_folder(traces/emulate MAY transport/base transport/sim TESTS transport/runtime)
cress_folder(media/frame MAY transport/base)
cress_folder(media/source MAY transport/base media/frame)
cress_folder(media/codec MAY transport/base media/frame media/source)
cress_folder(media/rate MAY transport/base media/frame media/source media/codec TESTS media/gst)
cress_folder(media/playout MAY transport/base media/frame)
cress_folder(media/gst MAY transport/base media/frame media/source)
cress_folder(media/devices MAY transport/base media/frame media/source media/gst)
cress_folder(relay/forward MAY transport/base transport/control/cress transport/session transport/room media/frame
  TESTS transport/wire transport/sim traces relay/members)
cress_folder(relay/members MAY transport/base transport/wire transport/control/cress transport/session
  transport/secure/records transport/secure/handshake transport/secure transport/room media/frame media/playout
  relay/forward)
cress_folder(relay/calls MAY transport/base transport/secure/crypto transport/secure/handshake
  transport/secure/rendezvous TESTS transport/secure transport/sim)
cress_folder(relay/daemon MAY transport/base transport/secure/crypto transport/secure/records
  transport/secure/handshake transport/secure/group transport/secure/link transport/secure transport/runtime
  relay/calls relay/forward TESTS transport/wire transport/room transport/sim relay/members
  transport/secure/rendezvous)
cress_folder(relay/tunnel MAY transport/base transport/control transport/control/sprout transport/control/cress
  transport/session transport/secure/records transport/secure/link transport/secure transport/process
  transport/runtime transport/netns TESTS transport/sim)
cress_folder(relay MAY transport/base transport/secure/handshake transport/secure/link transport/process
  transport/runtime relay/daemon TESTS transport/control/cress transport/secure/records transport/secure/group
  transport/secure transport/room media/frame media/source media/playout app/call app/room app/ui app/ui/kit)
cress_folder(app/call MAY transport/base transport/session media/frame media/source media/codec media/rate
  media/playout TESTS transport/control transport/control/sprout transport/control/cress transport/sim)
cress_folder(app/live MAY transport/base transport/control/cress transport/session transport/secure/crypto
  transport/secure/records transport/secure/link transport/secure transport/process transport/runtime transport/mapping
  transport/mapping/router media/frame media/source media/devices app/call TESTS transport/sim traces traces/emulate
  media/gst)
cress_folder(app/room MAY transport/base transport/control/cress transport/session transport/secure/records
  transport/secure/handshake transport/secure/group transport/secure/link transport/secure transport/room media/frame
  media/source app/call app/live TESTS transport/runtime transport/sim media/codec media/rate media/gst relay/forward)
cress_folder(app/headless MAY transport/base transport/room transport/secure/link transport/runtime transport/mapping
  media/frame media/source media/gst app/call app/live app/room)
cress_folder(app/ui/model MAY transport/base transport/process media/frame)
cress_folder(app/ui/kit MAY transport/base transport/process media/frame app/ui/model)
cress_folder(app/ui/report MAY transport/base app/ui/model)
cress_folder(app/ui/screens MAY transport/process app/ui/model app/ui/kit TESTS transport/base)
cress_folder(app/ui MAY transport/base transport/process app/ui/model app/ui/kit app/ui/screens TESTS media/frame)
cress_folder(app/desktop/settings MAY transport/base media/devices app/call app/ui/model)
cress_folder(app/desktop MAY transport/base transport/process transport/secure/link transport/runtime media/gst media/devices app/call
  app/live app/room app/ui/model app/ui/report app/ui app/desktop/settings TESTS media/source)
cress_folder(app MAY transport/base transport/process transport/runtime transport/secure/link media/gst app/room
  app/headless app/desktop/settings app/desktop TESTS transport/secure/handshake)
cress_folder(eval/metrics MAY transport/base transport/sim media/frame)
cress_folder(eval/schemes/host MAY transport/base media/frame media/source app/call)
cress_folder(eval/schemes/tcp MAY transport/base eval/schemes/host TESTS transport/sim eval/metrics
  eval/schemes/congestion eval/schemes)
cress_folder(eval/schemes/congestion MAY transport/base eval/schemes/tcp TESTS eval/schemes)
cress_folder(eval/schemes/webrtc MAY transport/base transport/sim media/frame media/source media/codec media/playout
  eval/schemes/host TESTS eval/schemes)
cress_folder(eval/schemes/like MAY transport/base media/frame media/source media/codec app/call eval/schemes/host
  TESTS transport/sim eval/metrics eval/schemes)
cress_folder(eval/schemes/cress MAY transport/base transport/wire transport/control transport/session transport/sim
  media/source relay/tunnel app/call eval/schemes/host TESTS eval/schemes)
cress_folder(eval/schemes MAY transport/base transport/wire transport/control/sprout transport/control/cress
  transport/sim media/source relay/tunnel eval/schemes/host eval/schemes/tcp eval/schemes/congestion
  eval/schemes/webrtc eval/schemes/like eval/schemes/cress TESTS media/codec eval/metrics)
cress_folder(eval/report MAY transport/base)
cress_folder(eval/harness MAY transport/base transport/sim media/frame media/source media/codec eval/metrics
  eval/schemes TESTS transport/control/cress transport/session transport/secure/link transport/runtime traces
  traces/emulate media/gst app/live)
cress_folder(eval/encoder MAY transport/base transport/sim traces media/frame media/source media/codec media/rate
  eval/metrics eval/report)
cress_folder(eval/reproduce MAY transport/base transport/control/sprout transport/control/cress transport/sim traces
  eval/metrics eval/schemes eval/report eval/harness eval/encoder)
cress_folder(eval/film MAY transport/base media/frame media/source media/gst)
cress_folder(eval/sweep MAY transport/base)
cress_folder(eval/compare MAY transport/base eval/report eval/sweep)
cress_folder(eval/cellsim MAY transport/base transport/runtime transport/netns transport/sim traces/emulate
  eval/metrics TESTS traces media/gst eval/harness)
cress_folder(eval/relay_load MAY transport/base transport/session transport/secure/crypto transport/secure/records
  transport/secure/handshake transport/secure transport/room transport/runtime transport/sim media/frame
  relay/forward relay/daemon relay/members)
cress_folder(eval/swarm MAY transport/base transport/secure/handshake transport/sim media/frame media/source
  relay/daemon app/live app/room TESTS transport/wire transport/control/cress transport/session
  transport/secure/crypto transport/secure/records transport/secure/group transport/room media/codec media/playout
  relay/members app/call)
cress_folder(eval MAY transport/base transport/process transport/runtime transport/sim traces media/source media/gst
  eval/schemes eval/report eval/harness eval/encoder eval/reproduce eval/film eval/sweep eval/compare eval/cellsim
  eval/relay_load TESTS media/frame media/codec eval/metrics)
