#!/usr/bin/python3
"""The relay's unit keeps what its file promises: no core file, no rights, secrets that others do not read. Run by ctest
as `relay-unit`."""

import configparser
import pathlib
import unittest

UNIT = pathlib.Path(__file__).resolve().parent / "relay" / "cress-relay.service"


class RelayUnit(unittest.TestCase):
    def setUp(self):
        # Settings may occur several times; the last counts, except for lists, none of which is looked at here.
        unit = configparser.ConfigParser(strict=False, interpolation=None, comment_prefixes=("#", ";"))
        unit.optionxform = str
        self.assertTrue(unit.read(UNIT))
        self.service = dict(unit["Service"])

    def expect(self, **settings):
        for name, value in settings.items():
            with self.subTest(name):
                self.assertEqual(self.service.get(name), value)

    def test_no_core_file_is_written(self):
        self.expect(LimitCORE="0")

    def test_it_runs_without_rights(self):
        self.expect(User="cress-relay", NoNewPrivileges="yes", CapabilityBoundingSet="", AmbientCapabilities="",
                    ProtectSystem="strict", ProtectHome="yes", ProtectProc="invisible", MemoryDenyWriteExecute="yes")

    def test_others_do_not_read_what_it_writes(self):
        self.expect(UMask="0077", StateDirectoryMode="0700")


if __name__ == "__main__":
    unittest.main()
