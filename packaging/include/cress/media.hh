#pragma once

/// Pictures and audio: sources, files, devices and codecs. What cress::media offers to other
/// programs.
#include "cress/transport.hh"
#include "media/codec/vp8_decoder.hh"
#include "media/codec/vp8_encoder.hh"
#include "media/devices/camera.hh"
#include "media/devices/devices.hh"
#include "media/devices/microphone.hh"
#include "media/devices/speaker.hh"
#include "media/frame/picture.hh"
#include "media/gst/gst_audio_source.hh"
#include "media/gst/gst_file_source.hh"
#include "media/gst/gst_movie_writer.hh"
#include "media/gst/gst_runtime.hh"
#include "media/source/audio_source.hh"
#include "media/source/audio_synthetic_voice.hh"
#include "media/source/synthetic_camera.hh"
#include "media/source/video_source.hh"
#include "media/source/y4m.hh"
