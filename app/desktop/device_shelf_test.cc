#include "app/desktop/device_shelf.hh"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cress::desktop {
namespace {

using media::DeviceKind;

const media::Device kTestPicture{DeviceKind::kCamera, media::kTestDevice, "Test picture"};
const media::Device kScreen{DeviceKind::kScreen, media::kScreenDevice, "Whole screen"};
const media::Device kDesk{DeviceKind::kCamera, "v4l2:desk", "Desk camera", true};
const media::Device kHeadset{DeviceKind::kMicrophone, "pulse:headset", "Headset"};
const media::Device kBuiltIn{DeviceKind::kMicrophone, "pulse:built-in", "Built-in", true};

TEST(DeviceShelf, WantedDeviceIsUsedBeforeTheListIsKnown) {
  DeviceShelf shelf;
  EXPECT_EQ(shelf.used(DeviceKind::kCamera), media::kDefaultDevice);
  shelf.choose(DeviceKind::kCamera, "v4l2:desk");
  EXPECT_EQ(shelf.used(DeviceKind::kCamera), "v4l2:desk");
  EXPECT_FALSE(shelf.has_list());
  EXPECT_FALSE(shelf.is_missing(DeviceKind::kCamera)) << "nobody knows yet";
  EXPECT_EQ(shelf.view(DeviceKind::kCamera).all.size(), 0U);
}

TEST(DeviceShelf, RemovedHeadsetIsReplacedAndUsedAgainOnReturn) {
  DeviceShelf shelf;
  shelf.choose(DeviceKind::kMicrophone, kHeadset.id);
  shelf.set_list({kBuiltIn, kHeadset});
  EXPECT_EQ(shelf.used(DeviceKind::kMicrophone), kHeadset.id);
  shelf.set_list({kBuiltIn});
  EXPECT_EQ(shelf.used(DeviceKind::kMicrophone), media::kDefaultDevice);
  EXPECT_EQ(shelf.view(DeviceKind::kMicrophone).chosen, kBuiltIn.id) << "by its own name";
  EXPECT_EQ(shelf.wanted(DeviceKind::kMicrophone), kHeadset.id);
  EXPECT_FALSE(shelf.is_missing(DeviceKind::kMicrophone));
  shelf.set_list({kBuiltIn, kHeadset});
  EXPECT_EQ(shelf.used(DeviceKind::kMicrophone), kHeadset.id);
}

TEST(DeviceShelf, TestPictureCountsAsCameraOnlyIfWanted) {
  DeviceShelf shelf;
  shelf.set_list({kTestPicture, kScreen});
  EXPECT_TRUE(shelf.is_missing(DeviceKind::kCamera));
  EXPECT_EQ(shelf.view(DeviceKind::kCamera).chosen, "");
  EXPECT_EQ(shelf.view(DeviceKind::kCamera).all.size(), 1U);
  shelf.choose(DeviceKind::kCamera, media::kTestDevice);
  EXPECT_FALSE(shelf.is_missing(DeviceKind::kCamera));
  EXPECT_EQ(shelf.used(DeviceKind::kCamera), media::kTestDevice);
  shelf.choose(DeviceKind::kCamera, media::kDefaultDevice);
  shelf.set_list({kDesk, kTestPicture});
  EXPECT_FALSE(shelf.is_missing(DeviceKind::kCamera));
  EXPECT_EQ(shelf.view(DeviceKind::kCamera).chosen, kDesk.id);
}

TEST(DeviceShelf, UnlistedDeviceInUseIsShownByName) {
  DeviceShelf shelf;
  shelf.set_list({kTestPicture});
  shelf.choose(DeviceKind::kCamera, "file:/home/lea/clips/me.mp4");
  const ui::Devices devices = shelf.view(DeviceKind::kCamera);
  EXPECT_EQ(devices.chosen, "file:/home/lea/clips/me.mp4");
  ASSERT_EQ(devices.all.size(), 2U);
  EXPECT_EQ(devices.all[1].name, "me.mp4");
  EXPECT_EQ(shelf.name_of(DeviceKind::kCamera, media::kTestDevice), "Test picture");
}

TEST(DeviceShelf, AScreenIsChosenOnlyWhileItIsShared) {
  DeviceShelf shelf;
  shelf.set_list({kTestPicture, kScreen});
  EXPECT_EQ(shelf.view(DeviceKind::kScreen).chosen, "");
  EXPECT_TRUE(shelf.lists(DeviceKind::kScreen, media::kScreenDevice));
  EXPECT_FALSE(shelf.lists(DeviceKind::kCamera, media::kScreenDevice));
  shelf.choose(DeviceKind::kScreen, media::kScreenDevice);
  EXPECT_EQ(shelf.view(DeviceKind::kScreen).chosen, media::kScreenDevice);
}

}  // namespace
}  // namespace cress::desktop
