package cli

import (
	"runtime/debug"
)

// release is the version that a release was made as; the linker sets it.
var release string

// version is that of a release, else the module's version as the Go toolchain recorded it.
func version() string {
	if release != "" {
		return release
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}

func sayVersion(d *deps) error {
	if d.json {
		return printJSON(d, "version", versionDocument{version()})
	}
	err := sayOut(d, "grid %s", version())
	return err
}
