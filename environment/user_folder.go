package environment

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// maxParts bounds what may lie at the top of a folder that stands for an image.
const maxParts = 256

// userFolder is the environment of an unpacked image that lies in a folder of the node, as those of /cvmfs/unpacked.cern.ch do:
// nothing of it is copied, and it has no digest. It is a *PolicyError where the site names no such place.
func (n *Node) userFolder(image string) (*Definition, error) {
	d := &Definition{Tag: UserImageTag, Image: image}
	if !cleanAbsolute(image) {
		return nil, fmt.Errorf("the job's image %q has to be an absolute path, and . and .. may not be in it", image)
	}
	if err := n.Policy.Check(d, false); err != nil {
		return nil, err
	}
	if !below(image, n.Policy.UserFolders) {
		return nil, &PolicyError{d.Tag, fmt.Sprintf("images of jobs from the folder %s (allowed: %s)", image, strings.Join(n.Policy.UserFolders, ", "))}
	}
	d.Launchers = []string{(*namespaces)(nil).Name()} // the only one that mounts beside what the image has
	return d, nil
}

// isFolder tells that the image lies unpacked in a folder of the node.
func (d *Definition) isFolder() bool { return strings.HasPrefix(d.Image, "/") }

// openFolder gives the folder itself, wherever links lead, as long as they lead to a place that the site names.
func (n *Node) openFolder(d *Definition) (*Tree, error) {
	real, err := filepath.EvalSymlinks(d.Image)
	if err != nil {
		return nil, err
	}
	var places []string
	for _, place := range n.Policy.UserFolders {
		if at, err := filepath.EvalSymlinks(place); err == nil {
			places = append(places, at)
		}
	}
	if !below(real, places) {
		return nil, &PolicyError{d.Tag, fmt.Sprintf("the folder %s, to which %s leads", real, d.Image)}
	}
	f, err := os.OpenFile(real, os.O_RDONLY|unix.O_NONBLOCK, 0) // a pipe would wait for its writer
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.IsDir() {
		f.Close()
		return nil, errors.Join(err, fmt.Errorf("%s is no folder: an image of one file has to be unpacked first", d.Image))
	}
	return &Tree{Path: real, lock: f}, nil
}

// A part is what lies at the top of a folder that stands for an image.
type part struct {
	Name   string
	Link   string `json:",omitempty"` // of a symbolic link, its target
	Folder bool   `json:",omitempty"`
}

// partsOf lists the top of a folder, but for what a job has of its own there.
func partsOf(tree string) ([]part, error) {
	entries, err := os.ReadDir(tree)
	if err != nil {
		return nil, err
	}
	if len(entries) > maxParts {
		return nil, fmt.Errorf("%s has %d entries: an image has at most %d at its top", tree, len(entries), maxParts)
	}
	var parts []part
	for _, e := range entries {
		p := part{Name: e.Name(), Folder: e.IsDir()}
		switch {
		case slices.Contains(ownPlaces(), e.Name()):
			continue
		case e.Type()&os.ModeSymlink != 0:
			if p.Link, err = os.Readlink(filepath.Join(tree, e.Name())); err != nil {
				return nil, err
			}
		case !e.IsDir() && !e.Type().IsRegular():
			continue
		}
		parts = append(parts, p)
	}
	return parts, nil
}

// ownPlaces are the folders at the top that are the job's own, whatever the image has there.
func ownPlaces() []string {
	return []string{"proc", "dev", "tmp", strings.TrimPrefix(SandboxTarget, "/")}
}
