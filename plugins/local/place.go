package local

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"gridbroker/durable"
)

// errCopied is that what is here of a job is a copy: the job itself is, or was, in the directory
// that was copied, and may run there. Here it is neither started, ended nor judged.
var errCopied = errors.New("this is a copy of the job's files, made by cp, rsync or a backup; follow it with the state directory they were copied from, or, if that is gone, grid cancel it here and grid resubmit it")

func placeFile(s *site) string { return filepath.Join(s.dir, "place") }

// writePlace notes which directory the site's is, once.
func writePlace(s *site) error {
	if _, err := os.Stat(placeFile(s)); err == nil {
		return nil
	}
	place, err := durable.PlaceOf(s.dir)
	if err != nil {
		return err
	}
	return durable.WriteFile(placeFile(s), []byte(place))
}

// copied reports whether a job was put into another directory than this one. Where the
// site's directory is the one that was made, its jobs are not looked at.
func copied(s *site, id string) (bool, error) {
	if copied, err := isCopy(s); err != nil || !copied {
		return false, err
	}
	var sp spec
	if err := s.spec(id, &sp); err != nil {
		return false, err
	}
	return fromElsewhere(s, id, &sp)
}

// isCopy reports whether the site's directory is another one than was made.
func isCopy(s *site) (bool, error) {
	was, err := durable.ReadFile(placeFile(s), 64<<10)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // made by an older program
	}
	if err != nil {
		return false, err
	}
	is, err := durable.PlaceOf(s.dir)
	return err == nil && !durable.SamePlace(string(was), is), err
}

// fromElsewhere reports whether a job of a site that is a copy was put into what it is a copy of.
func fromElsewhere(s *site, id string, sp *spec) (bool, error) {
	is, err := durable.PlaceOf(s.job(id))
	return err == nil && (sp.Place == "" || !durable.SamePlace(sp.Place, is)), err
}
