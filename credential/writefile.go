package credential

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"gridbroker/durable"
)

// abandoned is the age at which a temporary file of ours is taken for one that
// a killed process left behind.
const abandoned = time.Minute

// WriteSecret writes data to path with mode 0600, atomically: a reader sees
// the old content or the new one, also after a crash. What an earlier
// process left unfinished is removed.
func WriteSecret(path string, data []byte) error {
	dir, prefix := filepath.Dir(path), "."+filepath.Base(path)+".grid-"
	sweep(dir, prefix)
	return durable.Replace(path, prefix+"*", 0o600, data)
}

// sweep removes the user's own temporary files that nobody is writing any
// more. Failures do not matter: the next write tries again.
func sweep(dir, prefix string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), prefix) || !e.Type().IsRegular() {
			continue
		}
		info, err := e.Info()
		if err != nil || time.Since(info.ModTime()) < abandoned {
			continue
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) == os.Geteuid() {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}
