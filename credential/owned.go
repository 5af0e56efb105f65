package credential

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"gridbroker/durable"
)

// Owned refuses a file that somebody else could have written or could exchange: it, every
// directory it lies in and every link on the way must belong to the user or to root and be
// writable by nobody else, as ssh asks of its own (see durable.OthersCanExchange). A file
// that is not there is well.
func Owned(env Env, path string) error {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	at, why, err := durable.OthersCanExchange(path, env.UID)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // an open pipe, by its name below /proc
	case err == nil && at != "":
		return problem("file.owner", at, "others could have written to it", why, "chown it to you, or: chmod go-w "+quote(at))
	}
	return err
}

// OwnedPlace refuses a directory as Owned does, and where it is still to be made the
// nearest one above it that is there: who can write to that could put another in its place.
func OwnedPlace(env Env, dir string) error {
	for dir != filepath.Dir(dir) {
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		dir = filepath.Dir(dir)
	}
	return Owned(env, dir)
}
