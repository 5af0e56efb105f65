package environment

import (
	"fmt"
	"path/filepath"
	"strings"
)

// A Policy is what a site lets definitions do. The zero value allows no mounts, no devices, no network and no images of
// users.
type Policy struct {
	// Mounts are folders of the node; a definition may mount them and what lies below.
	Mounts []string
	// WritableMounts are those of them that a definition may mount writable.
	WritableMounts []string
	// Devices are paths of devices, their last part may hold '*'.
	Devices []string
	// Network allows definitions with network.
	Network bool
	// Open allows definitions that do without isolation.
	Open bool
	// Signers may write definitions, by a signature in TAG.toml.sig; none: whoever may write the folder of definitions.
	// With signers, what nobody has signed is a user's.
	Signers []Signer `json:",omitempty"`
	// UserImages allows definitions that are not the site's own: an image by digest, variables, nothing of the node.
	UserImages bool
	// UserRegistries are the places in registries, HOST or HOST/NAME, that images of jobs come from; an image lies there
	// or below. None, and no UserFolders: jobs bring no images.
	UserRegistries []string `json:",omitempty"`
	// UserFolders are folders of the node where unpacked images lie that jobs may name, such as /cvmfs/unpacked.cern.ch.
	UserFolders []string `json:",omitempty"`
}

// A PolicyError is a definition that the site does not allow.
type PolicyError struct{ Tag, Why string }

func (e *PolicyError) Error() string {
	return fmt.Sprintf("environment %s: the site does not allow %s", e.Tag, e.Why)
}

// Check tells whether the site allows d. own says that the site wrote it; a user's definition may choose an image,
// variables and limits, and never mounts, devices, launchers or a system.
func (p *Policy) Check(d *Definition, own bool) error {
	deny := func(format string, args ...any) error { return &PolicyError{d.Tag, fmt.Sprintf(format, args...)} }
	if !own {
		switch {
		case !p.UserImages:
			return deny("images of users")
		case len(d.Mounts) > 0 || len(d.Devices) > 0 || len(d.Launchers) > 0 || d.Nested || d.Open || d.System != nil:
			return deny("users' definitions with mounts, devices, launchers, nested namespaces, open or a system")
		}
	}
	if d.Network && !p.Network {
		return deny("network")
	}
	if d.Open && !p.Open {
		return deny("environments without isolation")
	}
	for _, m := range d.Mounts {
		if !below(m.Source, p.Mounts) {
			return deny("the mount of %s", m.Source)
		}
		if m.Writable && !below(m.Source, p.WritableMounts) {
			return deny("the writable mount of %s", m.Source)
		}
	}
	for _, dev := range d.Devices {
		if !matchesAny(dev, p.Devices) {
			return deny("the device %s", dev)
		}
	}
	return nil
}

func below(path string, roots []string) bool {
	for _, root := range roots {
		if path == root || strings.HasPrefix(path, strings.TrimSuffix(root, "/")+"/") {
			return true
		}
	}
	return false
}

func matchesAny(path string, patterns []string) bool {
	for _, pattern := range patterns {
		if path == pattern {
			return true
		}
		if ok, err := filepath.Match(pattern, path); err == nil && ok {
			return true
		}
	}
	return false
}
