#pragma once

#include <fcntl.h>
#include <gio/gio.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "media/gst/gst_handles.hh"
#include "transport/base/time.hh"

/// For tests of screen sharing through the desktop's portal: xdg-desktop-portal and PipeWire
/// themselves on a bus of the test's own, and, in place of a compositor's dialog, a back end that
/// answers as the test sets it.
namespace cress::media {

using namespace nlohmann::literals;

/// A program that runs as long as this object. Invalid: it could not be started.
class ScopedProgram {
 public:
  ScopedProgram(std::vector<std::string> command, std::vector<std::string> environment) {
    const auto pointers = [](std::vector<std::string>& texts) {
      std::vector<char*> all;
      for (std::string& text : texts) {
        all.push_back(text.data());
      }
      all.push_back(nullptr);
      return all;
    };
    posix_spawn_file_actions_t files{};
    posix_spawn_file_actions_init(&files);  // their output does not matter to the test
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    if (::posix_spawnp(&process_, command.front().c_str(), &files, nullptr,
                       pointers(command).data(), pointers(environment).data()) != 0) {
      process_ = 0;
    }
    posix_spawn_file_actions_destroy(&files);
  }
  ~ScopedProgram() {
    if (process_ != 0) {
      ::kill(process_, SIGKILL);
      ::waitpid(process_, nullptr, 0);
    }
  }
  ScopedProgram(const ScopedProgram&) = delete;
  ScopedProgram& operator=(const ScopedProgram&) = delete;

 private:
  pid_t process_ = 0;
};

/// The desktop's part that asks the user: org.freedesktop.impl.portal.ScreenCast.
class DialogOfADesktop {
 public:
  enum class Answer { kYes, kNo, kNone };  ///< kNone: the dialog stays open

  explicit DialogOfADesktop(uint32_t node) : node_(node), thread_{[this] { run(); }} {
    for (int i = 0; i < 10'000 && !is_named_; ++i) {
      std::this_thread::sleep_for(1ms);
    }
  }
  ~DialogOfADesktop() {
    g_main_loop_quit(loop_);
    thread_.join();
    g_main_loop_unref(loop_);
    g_main_context_unref(context_);
  }
  DialogOfADesktop(const DialogOfADesktop&) = delete;
  DialogOfADesktop& operator=(const DialogOfADesktop&) = delete;

  std::atomic<Answer> answer = Answer::kYes;
  std::atomic<int> asked = 0;

  /// The user ends sharing with the desktop's own button.
  void end_sharing() {
    const std::scoped_lock lock{mutex_};
    g_dbus_connection_emit_signal(bus_, nullptr, session_.c_str(),
                                  "org.freedesktop.impl.portal.Session", "Closed", nullptr,
                                  nullptr);
  }

 private:
  static constexpr const char* kInterface = R"(<node>
    <interface name="org.freedesktop.impl.portal.ScreenCast">
      <method name="CreateSession"><arg type="o" direction="in"/><arg type="o" direction="in"/>
        <arg type="s" direction="in"/><arg type="a{sv}" direction="in"/>
        <arg type="u" direction="out"/><arg type="a{sv}" direction="out"/></method>
      <method name="SelectSources"><arg type="o" direction="in"/><arg type="o" direction="in"/>
        <arg type="s" direction="in"/><arg type="a{sv}" direction="in"/>
        <arg type="u" direction="out"/><arg type="a{sv}" direction="out"/></method>
      <method name="Start"><arg type="o" direction="in"/><arg type="o" direction="in"/>
        <arg type="s" direction="in"/><arg type="s" direction="in"/><arg type="a{sv}" direction="in"/>
        <arg type="u" direction="out"/><arg type="a{sv}" direction="out"/></method>
      <property name="AvailableSourceTypes" type="u" access="read"/>
      <property name="AvailableCursorModes" type="u" access="read"/>
      <property name="version" type="u" access="read"/>
    </interface></node>)";

  void run() {
    g_main_context_push_thread_default(context_);
    bus_ = g_bus_get_sync(G_BUS_TYPE_SESSION, nullptr, nullptr);
    g_dbus_connection_set_exit_on_close(bus_, FALSE);
    GDBusNodeInfo* const described = g_dbus_node_info_new_for_xml(kInterface, nullptr);
    const GDBusInterfaceVTable calls{
        &DialogOfADesktop::call, &DialogOfADesktop::property, nullptr, {}};
    const guint object =
        g_dbus_connection_register_object(bus_, "/org/freedesktop/portal/desktop",
                                          described->interfaces[0], &calls, this, nullptr, nullptr);
    const guint name = g_bus_own_name_on_connection(
        bus_, "org.freedesktop.impl.portal.desktop.cress", G_BUS_NAME_OWNER_FLAGS_NONE,
        +[](GDBusConnection*, const char*, gpointer self) {
          static_cast<DialogOfADesktop*>(self)->is_named_ = true;
        },
        nullptr, this, nullptr);
    g_main_loop_run(loop_);
    for (GDBusMethodInvocation* const invocation : open_) {
      g_dbus_method_invocation_return_dbus_error(invocation, "org.cress.Gone", "too late");
    }
    g_bus_unown_name(name);
    g_dbus_connection_unregister_object(bus_, object);
    g_dbus_node_info_unref(described);
    g_object_unref(bus_);
    g_main_context_pop_thread_default(context_);
  }
  static void call(GDBusConnection*, const char*, const char*, const char*, const char* method,
                   GVariant* arguments, GDBusMethodInvocation* invocation, gpointer self) {
    static_cast<DialogOfADesktop*>(self)->handle(method, arguments, invocation);
  }
  static GVariant* property(GDBusConnection*, const char*, const char*, const char*,
                            const char* name, GError**, gpointer) {
    return g_variant_new_uint32(std::string_view{name} == "version" ? 4 : 3);
  }
  void handle(const std::string& method, GVariant* arguments, GDBusMethodInvocation* invocation) {
    constexpr uint32_t kDone = 0;
    constexpr uint32_t kDeclined = 1;
    GVariantBuilder results;
    g_variant_builder_init(&results, G_VARIANT_TYPE_VARDICT);
    if (method == "CreateSession") {
      const char* session = nullptr;
      g_variant_get_child(arguments, 1, "&o", &session);
      const std::scoped_lock lock{mutex_};
      session_ = session;
    }
    if (method != "Start") {
      g_dbus_method_invocation_return_value(invocation, g_variant_new("(ua{sv})", kDone, &results));
      return;
    }
    ++asked;
    if (answer == Answer::kNone) {
      g_variant_builder_clear(&results);
      open_.push_back(invocation);
      return;
    }
    if (answer == Answer::kYes) {
      GVariantBuilder streams;
      g_variant_builder_init(&streams, G_VARIANT_TYPE("a(ua{sv})"));
      g_variant_builder_add(&streams, "(ua{sv})", node_, nullptr);
      g_variant_builder_add(&results, "{sv}", "streams", g_variant_builder_end(&streams));
    }
    g_dbus_method_invocation_return_value(
        invocation,
        g_variant_new("(ua{sv})", answer == Answer::kYes ? kDone : kDeclined, &results));
  }

  const uint32_t node_;
  GMainContext* const context_ = g_main_context_new();
  GMainLoop* const loop_ = g_main_loop_new(context_, FALSE);
  GDBusConnection* bus_ = nullptr;
  std::atomic<bool> is_named_ = false;
  std::mutex mutex_;
  std::string session_;
  std::vector<GDBusMethodInvocation*> open_;  // dialogs not yet answered
  std::thread thread_;
};

/// A session bus, PipeWire with its session manager, one PipeWire node with moving pictures in
/// place of a compositor's screen, and the portal; all of the test's own.
class PortalDesktop {
 public:
  PortalDesktop() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_ / "portals");
    std::filesystem::permissions(folder_, std::filesystem::perms::owner_all);
    const std::vector<std::string> environment = environment_of_programs();
    open_bus(environment);
    await([this] { return std::filesystem::exists(folder_ / "bus"); });
    ::setenv("DBUS_SESSION_BUS_ADDRESS", bus_address().c_str(),
             1);  // NOLINT(concurrency-*): set-up
    pipewire_.emplace(std::vector<std::string>{"pipewire"}, environment);
    await([this] { return std::filesystem::exists(folder_ / "pipewire-0"); });
    manager_.emplace(std::vector<std::string>{"wireplumber"}, environment);
    ::setenv("PIPEWIRE_RUNTIME_DIR", folder_.c_str(), 1);  // NOLINT(concurrency-*): set-up
    screen_ = parse_pipeline(
        "videotestsrc is-live=true pattern=ball ! "
        "video/x-raw,format=BGRx,width=320,height=240,framerate=30/1 ! pipewiresink mode=provide "
        "stream-properties=\"p,media.class=Video/Source,node.name=cress-screen\"");
    gst_element_set_state(screen_.get(), GST_STATE_PLAYING);
    await([this] { return find_node().has_value(); });
    dialog_ = std::make_unique<DialogOfADesktop>(find_node().value_or(0));
    open_portal(environment);
  }
  ~PortalDesktop() {
    portal_.reset();
    dialog_.reset();
    screen_.reset();
    manager_.reset();
    pipewire_.reset();
    ::unsetenv("PIPEWIRE_RUNTIME_DIR");      // NOLINT(concurrency-*): tear-down
    ::unsetenv("DBUS_SESSION_BUS_ADDRESS");  // NOLINT(concurrency-*): tear-down
    std::filesystem::remove_all(folder_);
  }
  PortalDesktop(const PortalDesktop&) = delete;
  PortalDesktop& operator=(const PortalDesktop&) = delete;

  /// What is missing on this machine for this test; empty: nothing.
  static std::string missing() {
    for (const char* program : {"dbus-daemon", "pipewire", "wireplumber", "pw-dump", kPortal}) {
      const GstOwned<gchar> found{g_find_program_in_path(program)};
      if (found == nullptr) {
        return program;
      }
    }
    return has_element("pipewiresrc") ? "" : "gstreamer1.0-pipewire";
  }
  DialogOfADesktop& dialog() { return *dialog_; }
  bool is_up() const { return is_up_; }
  void close_portal() { portal_.reset(); }

 private:
  static constexpr const char* kPortal = "/usr/libexec/xdg-desktop-portal";

  std::string bus_address() const { return "unix:path=" + (folder_ / "bus").string(); }
  std::vector<std::string> environment_of_programs() const {
    const char* path = std::getenv("PATH");  // NOLINT(concurrency-*): set-up
    return {std::string{"PATH="} + (path == nullptr ? "" : path),
            "HOME=" + folder_.string(),
            "XDG_RUNTIME_DIR=" + folder_.string(),
            "XDG_DESKTOP_PORTAL_DIR=" + (folder_ / "portals").string(),
            "XDG_CURRENT_DESKTOP=cress",
            "DBUS_SESSION_BUS_ADDRESS=" + bus_address()};
  }
  /// Does not start services by itself, unlike a desktop's bus.
  void open_bus(const std::vector<std::string>& environment) {
    const std::filesystem::path config = folder_ / "bus.conf";
    std::ofstream{config} << "<busconfig><type>session</type><listen>" << bus_address()
                          << "</listen><policy context=\"default\"><allow send_destination=\"*\"/>"
                             "<allow receive_sender=\"*\"/><allow own=\"*\"/></policy></busconfig>";
    bus_.emplace(std::vector<std::string>{"dbus-daemon", "--nofork", "--nosyslog",
                                          "--config-file=" + config.string()},
                 environment);
  }
  void open_portal(const std::vector<std::string>& environment) {
    std::ofstream{folder_ / "portals" / "cress.portal"}
        << "[portal]\nDBusName=org.freedesktop.impl.portal.desktop.cress\n"
           "Interfaces=org.freedesktop.impl.portal.ScreenCast;\nUseIn=cress\n";
    portal_.emplace(std::vector<std::string>{kPortal}, environment);
    GDBusConnection* const bus = g_bus_get_sync(G_BUS_TYPE_SESSION, nullptr, nullptr);
    await([bus] {
      GVariant* const owner = g_dbus_connection_call_sync(
          bus, "org.freedesktop.DBus", "/", "org.freedesktop.DBus", "GetNameOwner",
          g_variant_new("(s)", "org.freedesktop.portal.Desktop"), nullptr, G_DBUS_CALL_FLAGS_NONE,
          -1, nullptr, nullptr);
      if (owner != nullptr) {
        g_variant_unref(owner);
      }
      return owner != nullptr;
    });
    g_object_unref(bus);
  }
  /// The node's number, as PipeWire reports it.
  std::optional<uint32_t> find_node() const {
    const std::string command = "XDG_RUNTIME_DIR=" + folder_.string() + " pw-dump 2>/dev/null";
    FILE* const pipe = popen(command.c_str(), "r");
    std::string text;
    std::array<char, 4096> buffer{};
    while (const size_t n = fread(buffer.data(), 1, buffer.size(), pipe)) {
      text.append(buffer.data(), n);
    }
    pclose(pipe);
    const auto objects = nlohmann::json::parse(text, nullptr, false);
    for (const auto& object : objects.is_array() ? objects : nlohmann::json::array()) {
      if (object.contains("/info/props/node.name"_json_pointer) &&
          object.at("/info/props/node.name"_json_pointer) == "cress-screen") {
        return object.at("id").get<uint32_t>();
      }
    }
    return std::nullopt;
  }
  template <class Condition>
  void await(Condition condition) {
    bool is_true = condition();
    for (int i = 0; i < 1000 && !is_true; ++i) {
      std::this_thread::sleep_for(10ms);
      is_true = condition();
    }
    is_up_ = is_up_ && is_true;
  }

  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("cress_portal_" + std::to_string(::getpid()));
  bool is_up_ = true;
  std::optional<ScopedProgram> bus_;
  std::optional<ScopedProgram> pipewire_;
  std::optional<ScopedProgram> manager_;
  GstPipelinePtr screen_;
  std::unique_ptr<DialogOfADesktop> dialog_;
  std::optional<ScopedProgram> portal_;
};

}  // namespace cress::media
