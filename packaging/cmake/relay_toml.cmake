# The configuration of an installed relay: every setting with its default, and the rooms where its user may write.
execute_process(COMMAND ${PROGRAM} --rooms /var/lib/cress-relay/rooms.db config OUTPUT_FILE ${OUT} COMMAND_ERROR_IS_FATAL ANY)
