package credential

import (
	"path/filepath"

	"gridbroker/durable"
)

// WriteSecret writes data to path with mode 0600, atomically: a reader sees
// the old content or the new one, also after a crash. What an earlier
// process left unfinished is removed.
func WriteSecret(path string, data []byte) error {
	dir, prefix := filepath.Dir(path), "."+filepath.Base(path)+".grid-"
	durable.Sweep(dir, prefix)
	return durable.Replace(path, prefix+"*", 0o600, data)
}
