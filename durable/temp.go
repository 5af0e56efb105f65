package durable

import (
	"fmt"
	"os"
)

// TempDir is the directory for temporary files, which os.TempDir names: where somebody else could exchange what is made
// there it is /tmp. An error says that neither is good.
func TempDir() (string, error) {
	var bad error
	for _, dir := range []string{os.TempDir(), "/tmp"} {
		at, why, err := OthersCanExchange(dir, os.Geteuid())
		switch {
		case err == nil && at == "":
			return dir, nil
		case bad != nil:
		case err != nil:
			bad = fmt.Errorf("the directory for temporary files: %w", err)
		default:
			bad = fmt.Errorf("the directory for temporary files, %s: others can exchange what is in it: %s: %s; let TMPDIR name one of your own", dir, at, why)
		}
	}
	return "", bad
}

// MkdirTemp makes a directory for the user's eyes alone in TempDir, which nobody else can exchange. See os.MkdirTemp for the
// pattern.
func MkdirTemp(pattern string) (string, error) {
	dir, err := TempDir()
	if err != nil {
		return "", err
	}
	return os.MkdirTemp(dir, pattern)
}
