package cli

import (
	"fmt"
	"os"

	"gridbroker/credential"
)

// ownedDir makes a directory that a daemon keeps its state in and believes, or
// takes one that nobody else can have put files into.
func ownedDir(d *deps, dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := credential.Owned(credentialEnv(d), dir); err != nil {
		return usageError(err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode()&os.ModeSticky != 0 && info.Mode()&0o022 != 0 {
		return usageError(fmt.Errorf("%s: others can put files into it; name a directory below it", dir))
	}
	return nil
}
