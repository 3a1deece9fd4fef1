# Three Debian packages: cpack -G DEB in the build folder, after cress-libraries and the NAME-files targets are built.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME cress)
set(CPACK_PACKAGE_VENDOR "the Cress authors")
set(CPACK_PACKAGE_CONTACT "Cress maintainers <maintainers@users.noreply.cress.example>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # each package has its own
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_COMPONENTS_ALL cress relay dev)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)

set(CPACK_DEBIAN_CRESS_PACKAGE_NAME cress)
set(CPACK_DEBIAN_CRESS_PACKAGE_SECTION comm)
# Codecs and devices are GStreamer's plugins, which are loaded by name.
set(CPACK_DEBIAN_CRESS_PACKAGE_DEPENDS "gstreamer1.0-plugins-base, gstreamer1.0-plugins-good, gstreamer1.0-plugins-bad")
set(CPACK_DEBIAN_CRESS_PACKAGE_RECOMMENDS "gstreamer1.0-pipewire, gstreamer1.0-alsa, gstreamer1.0-libav, gstreamer1.0-x, xdg-desktop-portal")
set(CPACK_COMPONENT_CRESS_DESCRIPTION "video calls that stay live on mobile links
A call program with a window or without, a tunnel whose flows share one
forecast of the link, and programs that measure and emulate links.")
set(CPACK_DEBIAN_RELAY_PACKAGE_NAME cress-relay)
set(CPACK_DEBIAN_RELAY_PACKAGE_SECTION net)
set(CPACK_DEBIAN_RELAY_PACKAGE_DEPENDS "adduser")
set(CPACK_DEBIAN_RELAY_PACKAGE_CONTROL_EXTRA
  ${CMAKE_CURRENT_SOURCE_DIR}/debian/postinst ${CMAKE_CURRENT_SOURCE_DIR}/debian/prerm
  ${CMAKE_CURRENT_SOURCE_DIR}/debian/postrm ${CMAKE_CURRENT_SOURCE_DIR}/debian/conffiles)
set(CPACK_COMPONENT_RELAY_DESCRIPTION "relay for encrypted rooms of up to 41 people
It forwards audio and video that it cannot read, for members who are all
behind NATs. Runs as its own user under a hardened systemd unit.")
set(CPACK_DEBIAN_DEV_PACKAGE_NAME libcress-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "libssl-dev, libprotobuf-dev, protobuf-compiler, libvpx-dev, libopus-dev, libgstreamer1.0-dev, libgstreamer-plugins-base1.0-dev, libportal-dev, libminiupnpc-dev, pkg-config")
if(IPSEC_MB)
  string(APPEND CPACK_DEBIAN_DEV_PACKAGE_DEPENDS ", libipsec-mb-dev")
endif()
set(CPACK_COMPONENT_DEV_DESCRIPTION "libraries of Cress, for building other programs
Static libraries and headers of the transport, session, media and call
libraries and of the simulator, with files for CMake and pkg-config.")

# Documentation of each package, as Debian wants it.
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
foreach(pair cress:cress relay:cress-relay dev:libcress-dev)
  string(REPLACE ":" ";" pair ${pair})
  list(GET pair 0 component)
  list(GET pair 1 package)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/doc/${package})
  file(WRITE ${folder}/changelog "${package} (${PROJECT_VERSION}) unstable; urgency=medium\n\n  * CHANGELOG.md of the source says what is new.\n\n -- ${CPACK_PACKAGE_CONTACT}  ${date}\n")
  install(CODE "execute_process(COMMAND gzip -9n -k -f ${folder}/changelog COMMAND_ERROR_IS_FATAL ANY)"
    COMPONENT ${component})
  install(FILES ${folder}/changelog.gz debian/copyright DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package}
    COMPONENT ${component})
endforeach()
include(CPack)
